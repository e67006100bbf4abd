// The size of the code that a page has to load.
import { expect, test } from "vitest";
import { bundles, measure } from "../scripts/size.js";

test.each(bundles)("$name is at most $most bytes, gzipped", async ({ code, most }) => {
  const { gzipped } = await measure(code);
  expect(gzipped).toBeLessThanOrEqual(most);
});
