// Reads the documents in Chromium: documents.mjs URL FOLDER. It says "well" in the end.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(new URL("../../clients/typescript/package.json", import.meta.url))("playwright-core");

const [url, folder] = process.argv.slice(2);
const WIDTHS = [360, 768, 1280];
const pages = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith(".html"));
assert(pages.length > 70, `${pages.length} pages`);

// As root, which tests may be, Chromium has no sandbox.
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

/** A page that fails the test by what it complains of, and by what it asks of others. */
const open = async (options = {}) => {
  const page = await browser.newPage(options);
  page.complaints = [];
  page.on("console", (message) => page.complaints.push(`${page.url()}: ${message.text()}`));
  page.on("pageerror", (error) => page.complaints.push(`${page.url()}: ${error}`));
  page.on("request", (request) => {
    if (!/^(data:|file:)/.test(request.url()) && !request.url().startsWith(url)) page.complaints.push(`asks for ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) page.complaints.push(`${response.status()} ${response.url()}`);
  });
  return page;
};

// Every page, at three widths: nothing is wider than the window, and what is too wide scrolls in its own box.
{
  const page = await open();
  for (const path of pages) {
    await page.goto(`${url}/docs/${path}`);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert(wide <= 0, `${path} is ${wide} pixels too wide at ${width}`);
    }
    assert(await page.evaluate(() => document.querySelector("main h1") !== null), `${path} has no heading`);
  }
  // Dark where the reader has it dark.
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await back();
  await page.emulateMedia({ colorScheme: "dark" });
  assert.notEqual(await back(), light);
  assert.deepEqual(page.complaints, []);
  await page.close();
}

// The search finds, by mouse and by keyboard; from a server and from a folder.
for (const root of [`${url}/docs/`, pathToFileURL(`${folder}/`).href]) {
  const page = await open();
  await page.goto(`${root}index.html`);
  await page.keyboard.press("/");
  await page.keyboard.type("run_and_wait");
  await page.locator("search li a").first().click();
  await page.waitForURL(`${root}methods/jobs.html#run_and_wait`);
  await page.locator("search input").fill("at least once");
  await page.locator("search li a").first().waitFor();
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "A");
  await page.keyboard.press("Enter");
  await page.waitForURL((to) => to.hash.length > 1 && !to.href.includes("run_and_wait"));
  await page.locator("search input").fill("no document has this: zzzzqqqq");
  await page.getByText("Nothing has all of these words.").waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("search li").count(), 0);
  // A link between documents, and one to a place within one.
  await page.goto(`${root}README.html`);
  await page.locator('main a[href="flows.html"]').first().click();
  await page.waitForURL(`${root}flows.html`);
  assert.deepEqual(page.complaints, []);
  await page.close();
}

// Without scripts there is no search, and every page can still be reached.
{
  const page = await open({ javaScriptEnabled: false });
  await page.goto(`${url}/docs/`);
  assert.equal(await page.locator("search").isVisible(), false);
  const linked = await page.locator("main a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  const missing = pages.filter((path) => path !== "index.html" && !linked.includes(path));
  assert.deepEqual(missing, []);
  await page.close();
}

await browser.close();
console.log("well");
