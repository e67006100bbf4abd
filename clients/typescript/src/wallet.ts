import type { LoggedIn } from "./generated/types.js";
import type { Login } from "./options.js";

/** A signing key. */
export interface Wallet {
  /** The public key: secp256k1, uncompressed, hexadecimal (`04…`). */
  publicKey: string;
  /** Signs a text as an Ethereum personal message: `wallet.signMessage` of ethers, `personal_sign` of a browser's wallet. */
  sign: (text: string) => string | Promise<string>;
  /** Called after a login, with the identity and the end of the token. */
  onLogin?: ((who: LoggedIn) => void) | undefined;
}

/**
 * Logs in on each new connection with a signature. The signed text names the server; a text for another server than the
 * connected one is not signed.
 */
export const wallet =
  ({ publicKey, sign, onLogin }: Wallet): Login =>
  async (call, host) => {
    const nonce = String(await call("fetch_nonce", { pubkey: publicKey }));
    // The host may have a port. Only the last two fields are others.
    const [, named] = /^hero:(.*):[^:]*:[^:]*$/.exec(nonce) ?? [];
    if (named?.toLowerCase() !== host.toLowerCase()) {
      throw new Error(
        `the server gave ${nonce} to be signed, which is not for ${host}: it was not signed, for another server might use it`,
      );
    }
    const signature = await sign(nonce);
    const who = (await call("authenticate", { pubkey: publicKey, signature, nonce })) as LoggedIn;
    onLogin?.(who);
    return who;
  };
