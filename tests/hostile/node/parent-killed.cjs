// Kills the process that watches it.
// expect: finished
// gives: EPERM
let code = "killed";
try { process.kill(process.ppid || 1, "SIGKILL"); } catch (error) { code = error.code; }
require("node:fs").writeSync(3, code);
