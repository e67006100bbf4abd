import type { TestProject } from "vitest/node";
import { serve } from "../src/testing.js";

declare module "vitest" {
  export interface ProvidedContext {
    url: string;
  }
}

/** One server for all live tests: the server of HERO_URL, or a new one. */
export default async (project: TestProject): Promise<(() => Promise<void>) | undefined> => {
  const there = process.env["HERO_URL"];
  if (there) {
    project.provide("url", there);
    return undefined;
  }
  const server = await serve();
  project.provide("url", server.url);
  return () => server.stop();
};
