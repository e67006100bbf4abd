/**
 * Loads the code that most programs never need. It is one file for bundlers, and imports nothing that a connection
 * needs, so that it is loaded separately.
 */
export const rare = () => import("./on-demand.js");
