const schemes = { ws: "ws", wss: "wss", http: "ws", https: "wss" } as const;

/** What the environment says, where there is one that may be read. */
const variable = (name: string): string | undefined => {
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    const value = process?.env?.[name];
    return value === "" ? undefined : value;
  } catch {
    // Deno was not allowed to say.
    return undefined;
  }
};

/** Options with the token of the environment, `HERO_TOKEN`, if they say nothing of who calls. */
export const withToken = <O extends { token?: unknown; login?: unknown }>(options: O = {} as O): O =>
  options.token === undefined && !options.login ? { ...options, token: variable("HERO_TOKEN") } : options;

/**
 * The address of a server as a WebSocket connects to it: `http` means `ws`, and `host:port` alone does, too. Nothing is `HERO_SERVER`, else this
 * machine. As HTTP calls it, if `overHttp`.
 *
 * @throws TypeError if it is none.
 */
export const addressOf = (given: string | undefined, overHttp = false): string => {
  const url = given ?? variable("HERO_SERVER") ?? "127.0.0.1:8700";
  const [, scheme, rest] = /^(?:([a-z]+):\/\/)?(.*)$/is.exec(url) ?? [];
  const known = scheme === undefined ? "ws" : schemes[scheme.toLowerCase() as keyof typeof schemes];
  const whole = `${known}://${rest ?? ""}`;
  if (!known || (scheme === undefined && !/^[^/]+:\d+$/.test(url)) || !URL.canParse(whole)) {
    throw new TypeError(
      `${JSON.stringify(url)} is no address of a server: write ws://127.0.0.1:8700, wss://host, or host:port`,
    );
  }
  return overHttp ? whole.replace(/^ws/, "http") : whole;
};
