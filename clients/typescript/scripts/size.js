// Bundles this package as a page would, with esbuild, and compares the sizes with the promised ones.
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The bundles, and their maximum sizes in bytes, gzipped. */
export const bundles = [
  {
    name: "createClient, run, followLogs",
    code: 'export { createClient, run, followLogs } from "./dist/index.js";',
    most: 6 * 1024,
  },
  { name: "connect", code: 'export { connect } from "./dist/index.js";', most: 14 * 1024 },
];

export const measure = async (code) => {
  const { outputFiles, metafile } = await build({
    stdin: { contents: code, resolveDir: root },
    bundle: true,
    splitting: true,
    minify: true,
    metafile: true,
    format: "esm",
    platform: "browser",
    outdir: root,
    write: false,
  });
  // The code that is loaded at once: the entry and its imports, without dynamic imports.
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [path.split("/").pop(), output]));
  const needed = new Set();
  const add = (path) => {
    if (needed.has(path)) return;
    needed.add(path);
    for (const each of outputs.get(path).imports) if (each.kind === "import-statement") add(each.path.split("/").pop());
  };
  add([...outputs].find(([, output]) => output.entryPoint === "<stdin>")[0]);
  const files = outputFiles.filter((file) => needed.has(file.path.split("/").pop()));
  const sum = (sizes) => sizes.reduce((all, size) => all + size, 0);
  return {
    minified: sum(files.map((file) => file.contents.length)),
    gzipped: sum(files.map((file) => gzipSync(file.contents, { level: 9 }).length)),
  };
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { name, code, most } of bundles) {
    const { minified, gzipped } = await measure(code);
    console.log(`${name}: ${gzipped} bytes gzipped of at most ${most} (${minified} minified)`);
    if (gzipped > most) process.exitCode = 1;
  }
}
