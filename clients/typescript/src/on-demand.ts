export { advise } from "./advice.js";
export { checker } from "./check.js";
export { explain } from "./explain.js";
export { stop } from "./stop.js";
