// Leaves a process behind, detached, and ends.
// expect: finished
require("node:child_process").spawn("sleep", ["1000"], { detached: true, stdio: "ignore" }).unref();
