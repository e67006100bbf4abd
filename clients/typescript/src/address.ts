const schemes = { ws: "ws", wss: "wss", http: "ws", https: "wss" } as const;

/** Reads a variable of the environment, if there is one that may be read. */
const variable = (name: string): string | undefined => {
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    const value = process?.env?.[name];
    return value === "" ? undefined : value;
  } catch {
    // Deno has no permission to read it.
    return undefined;
  }
};

/** Adds the token of the environment, `HERO_TOKEN`, to options without a token or login. */
export const withToken = <O extends { token?: unknown; login?: unknown }>(options: O = {} as O): O =>
  options.token === undefined && !options.login ? { ...options, token: variable("HERO_TOKEN") } : options;

/**
 * Returns the address of a server for WebSockets, or for HTTP with `overHttp`. Also accepts `http` for `ws`, and a bare
 * `host:port`. The default is `HERO_SERVER`, otherwise this machine.
 *
 * @throws TypeError if the text is not an address.
 */
export const addressOf = (given: string | undefined, overHttp = false): string => {
  const url = given ?? variable("HERO_SERVER") ?? "127.0.0.1:8700";
  if (url.includes("@")) {
    // Addresses are shown in errors. The text before the @ may be a password, so it is not repeated.
    throw new TypeError(
      `the address of ${JSON.stringify(url.slice(url.lastIndexOf("@") + 1))} has a name or a password in it, which no server takes: remove what stands before the @, and give a token with \`token\` or HERO_TOKEN`,
    );
  }
  const [, scheme, rest = ""] = /^(?:([a-z]+):\/\/)?(.*)$/is.exec(url) ?? [];
  const known = scheme === undefined ? "ws" : schemes[scheme.toLowerCase() as keyof typeof schemes];
  const whole = `${known}://${rest}`;
  // `URL` reads ws:///x as ws://x, leaves white space out, and accepts the port 0 and none behind the colon.
  const hasPlace = !/^[/?#]|^$|[\s\p{Cc}]|^[^/?#]*:0*(?:[/?#]|$)/u.test(rest) && URL.canParse(whole);
  if (!known || !hasPlace || (scheme === undefined && !/^[^/]+:\d+$/.test(url))) {
    throw new TypeError(
      `${JSON.stringify(url)} is no address of a server: write ws://127.0.0.1:8700, wss://host, or host:port`,
    );
  }
  return overHttp ? whole.replace(/^ws/, "http") : whole;
};
