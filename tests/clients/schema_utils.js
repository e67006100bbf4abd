// @open-rpc/schema-utils-js parses, dereferences and validates a document, and so do calls by it. The file is the one argument.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const { MethodCallValidator, parseOpenRPCDocument, validateOpenRPCDocument } = require("schema-utils-2");

async function main() {
  const written = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
  assert.equal(validateOpenRPCDocument(written), true);
  const document = await parseOpenRPCDocument(written, { validate: true, dereference: true });

  const left = [];
  const walk = (value, place) => {
    if (value === null || typeof value !== "object") return;
    if (typeof value.$ref === "string") left.push(`${place}: ${value.$ref}`);
    // Extensions are left as they are by the library.
    for (const [name, inner] of Object.entries(value)) if (!name.startsWith("x-")) walk(inner, `${place}/${name}`);
  };
  walk(document.methods, "methods");
  assert.deepEqual(left, []);

  const validator = new MethodCallValidator(document);
  let examples = 0;
  for (const method of document.methods) {
    for (const { name, params } of method.examples ?? []) {
      examples += 1;
      const byPosition = params.map(({ value }) => value);
      assert.deepEqual(validator.validate(method.name, byPosition), [], `${method.name}, ${name}, by position`);
      const byName = Object.fromEntries(params.map(({ name, value }) => [name, value]));
      assert.deepEqual(validator.validate(method.name, byName), [], `${method.name}, ${name}, by name`);
    }
  }
  assert.ok(examples >= document.methods.length, `${examples} examples of ${document.methods.length} methods`);
  assert.notDeepEqual(validator.validate("run_and_wait", [42]), [], "a script is text");
}

main().then(() => console.log("well"), (error) => {
  console.error(error);
  process.exit(1);
});
