import { readFile } from "node:fs/promises";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

/** Signs as a wallet does, with a key file of `hero identity key`. */
export const signer = async (file: string) => {
  const key = Uint8Array.from(Buffer.from((await readFile(file, "utf8")).trim(), "hex"));
  return {
    publicKey: hex(secp256k1.getPublicKey(key, false)),
    sign: (text: string) => {
      const hash = keccak_256(Buffer.from(`\x19Ethereum Signed Message:\n${text.length}${text}`));
      const [recovery = 0, ...rest] = secp256k1.sign(hash, key, { prehash: false, format: "recovered" });
      return hex(Uint8Array.from([...rest, 27 + recovery]));
    },
  };
};
