// Runs programs as docs/methods prints them: each line that it reads is one, as JSON, and the line that it writes is what that printed.
import { createInterface } from "node:readline";
import { connect } from "hero-client";

const hero = connect(process.argv[2]);
const Program = (async () => {}).constructor;
for await (const line of createInterface({ input: process.stdin })) {
  let answer = {};
  const console = { log: (value) => (answer = { result: value ?? null }) };
  try {
    await new Program("hero", "console", JSON.parse(line))(hero, console);
  } catch (error) {
    answer = { error: `${error.name}: ${error.message}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
hero.close();
