// Run with node, as a command of the configuration (examples/commands/hero.toml):
//   hero run --args '{"items": [{"name": "tea", "price": 2.5}]}' examples/commands/report.js
const fs = require("node:fs");

const { items = [] } = JSON.parse(fs.readFileSync(process.env.HERO_ARGS, "utf8"));
let total = 0;
for (const item of items) {
  console.log(`${item.name}: ${item.price}`); // A line of the log.
  total += item.price;
}
// The result goes to a separate descriptor, so printed lines cannot be mistaken for it.
fs.writeSync(Number(process.env.HERO_RESULT_FD), JSON.stringify({ items: items.length, total }));
