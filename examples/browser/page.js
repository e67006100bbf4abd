import { connect } from "hero-client";

/** The maximum number of lines that the page shows. It drops the oldest first. */
const LINES = 5_000;
/** The texts for people of bad ends, where they differ from the server's words. */
const ENDS = { script: "failed", timeout: "timed out" };

const $ = (id) => document.getElementById(id);
const at = new URLSearchParams(location.search).get("server") ?? "ws://127.0.0.1:8700";
/** Ends the current subscription when the page follows another job. */
let followed = new AbortController();

/** The texts for people of errors that speak to programs. */
const TROUBLES = { NotAuthenticated: "This server wants a login, and this page has none: ask whoever made the page." };

const trouble = (error) => {
  $("trouble").hidden = !error;
  $("trouble").textContent = TROUBLES[error?.name] ?? error?.message ?? "";
};

const connected = () => {
  try {
    return connect(at, { reconnect: { attempts: Infinity, firstAttempts: Infinity, maxDelay: 2 } });
  } catch (error) {
    trouble(error);
    throw error;
  }
};
const hero = connected();

hero.onStatus(({ state, attempt, error }) => {
  const words = { connecting: attempt > 1 ? "connecting again" : "connecting", waiting: "connecting again", down: "no connection", open: "connected" };
  $("connection").dataset.state = state;
  $("state").textContent = words[state];
  if (error || state === "open") trouble(error);
});

/** Lines that wait for the next frame: the page lays out all of them at once. */
let waiting = [];

const line = (item) => {
  // A hidden page has no frames, so the waiting lines are bounded like the visible ones.
  if (waiting.length >= 2 * LINES) waiting = waiting.slice(-LINES);
  if (waiting.push(item) === 1) requestAnimationFrame(showLines);
};

const showLines = () => {
  const log = $("log");
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  const items = waiting.slice(-LINES).map(({ level, text }) => {
    const item = document.createElement("li");
    item.dataset.level = level;
    item.textContent = text;
    return item;
  });
  waiting = [];
  for (let over = log.childElementCount + items.length - LINES; over > 0; over -= 1) log.firstElementChild?.remove();
  log.append(...items);
  if (isAtEnd) log.scrollTop = log.scrollHeight;
};

/** Shows each line once, even when connections break. */
const showLog = async (id, signal) => {
  for await (const item of hero.jobs.followLogs(id, { signal })) {
    if (item.type === "line") line(item);
    if (item.type === "lagged") line({ level: "note", text: "the server does not have the lines that were here any more" });
  }
};

const showProgress = async (id, signal) => {
  for await (const item of hero.jobs.follow(id, { signal })) {
    if (item.type !== "event") continue;
    $("status").textContent = ENDS[item.kind] ?? item.kind ?? item.status;
    if (!item.progress) continue;
    $("far").hidden = false;
    $("progress").value = item.progress.value;
    $("doing").textContent = item.progress.text;
  }
};

const showResult = async (id, signal) => {
  const { value, error } = await hero.jobs.wait(id, { signal, wait_timeout: Infinity }).catch((error) => ({ error }));
  if (signal.aborted) return;
  $("stop").disabled = true;
  $("result").hidden = false;
  $("result").dataset.failed = Boolean(error);
  $("result").textContent = error ? error.message : JSON.stringify(value, null, 2);
};

/** Follows a job from its first line to its result. */
const follow = async (id) => {
  followed.abort();
  followed = new AbortController();
  const { signal } = followed;
  waiting = [];
  $("log").replaceChildren();
  $("far").hidden = true;
  $("result").hidden = true;
  $("stop").disabled = false;
  try {
    await Promise.all([showLog(id, signal), showProgress(id, signal), showResult(id, signal)]);
  } catch (error) {
    if (!signal.aborted) trouble(error);
  }
};

/** The address names the job, so that a reloaded page shows it again. */
const named = () => new URLSearchParams(location.hash.slice(1)).get("job");

$("job").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("run").disabled = true;
  try {
    const id = await hero.jobs.create($("script").value, { timeout: 600, start: true });
    location.hash = `job=${id}`;
    trouble();
  } catch (error) {
    trouble(error);
  } finally {
    $("run").disabled = false;
  }
});

$("stop").addEventListener("click", () => hero.jobs.stop(named()).catch(trouble));
addEventListener("hashchange", () => named() && follow(named()));

$("where").textContent = at;
if (named()) follow(named());
// Where a login is needed, this says so; `ping` and `whoami` need none.
else hero.jobs.list({ limit: 1 }).catch(trouble);
