//! Signatures of wallets: secp256k1 over the hash of an Ethereum personal message (EIP-191).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use k256::ecdsa::{self, RecoveryId, SigningKey, VerifyingKey};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha3::{Digest as _, Keccak256};

use super::id::text_id;
use super::secrecy::MASKED;
use super::{PublicKey, excerpt, hex, unhex};

/// The number of bytes of a signature: r and s, 32 each, and v.
const SIGNATURE_BYTES: usize = 65;

/// A signature of a text: r, s and v as 130 hexadecimal digits in lower case, with s in the lower half of its range.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Signature(Arc<str>);

/// The error for a text that is not a signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSignature {
    /// It does not have the form of a signature.
    #[error("{0:?} is no signature: 130 hexadecimal digits (r, s and v)")]
    Form(String),
    /// Its last byte is invalid.
    #[error("the last byte of the signature (v) is {0}, and has to be 0, 1, 27 or 28")]
    Recovery(u8),
    /// Its numbers are out of the range of the curve.
    #[error("r and s of the signature have to be from 1 to the order of secp256k1, without that")]
    Range,
    /// Its second number is in the upper half of its range, which EIP-2 forbids.
    #[error("s of the signature is in the upper half of its range; send the order of secp256k1 less s, and the other v")]
    HighS,
}

/// Parses a signature into its numbers.
fn numbers(text: &str) -> Result<(ecdsa::Signature, RecoveryId), InvalidSignature> {
    let bytes: [u8; SIGNATURE_BYTES] = unhex(text).ok_or_else(|| InvalidSignature::Form(excerpt(text, 32).into_owned()))?;
    let (numbers, v) = (&bytes[..SIGNATURE_BYTES - 1], bytes[SIGNATURE_BYTES - 1]);
    let is_odd = match v {
        0 | 27 => false,
        1 | 28 => true,
        _ => return Err(InvalidSignature::Recovery(v)),
    };
    let signature = ecdsa::Signature::from_slice(numbers).map_err(|_| InvalidSignature::Range)?;
    if signature.normalize_s().is_some() {
        return Err(InvalidSignature::HighS);
    }
    Ok((signature, RecoveryId::new(is_odd, false)))
}

impl Signature {
    /// The signature as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is a signature of `text` by the private key of `key`.
    pub fn is_by(&self, key: &PublicKey, text: &str) -> bool {
        let Ok((signature, recovery)) = numbers(&self.0) else { return false };
        let signer = VerifyingKey::recover_from_prehash(&personal_hash(text), &signature, recovery);
        signer.is_ok_and(|signer| public(&signer) == *key)
    }
}

impl FromStr for Signature {
    type Err = InvalidSignature;

    fn from_str(text: &str) -> Result<Self, InvalidSignature> {
        let text = text.strip_prefix("0x").unwrap_or(text);
        numbers(text).map(|_| Self(text.to_ascii_lowercase().into()))
    }
}

text_id!(Signature, { "type": "string", "pattern": "^(0x)?[0-9A-Fa-f]{130}$" });

/// Returns the hash that is signed: keccak-256 of the text as a personal message.
fn personal_hash(text: &str) -> [u8; 32] {
    let prefix = format!("\x19Ethereum Signed Message:\n{}", text.len());
    Keccak256::new().chain_update(prefix).chain_update(text).finalize().into()
}

fn public(key: &VerifyingKey) -> PublicKey {
    hex(key.to_encoded_point(false).as_bytes()).parse().expect("a key of the curve is a point of it")
}

/// A secp256k1 private key. Its owner can act as the identity with its public key.
#[derive(Clone)]
pub struct PrivateKey(SigningKey);

/// The error for a text that is not a private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it does not hold 64 hexadecimal digits that are a private key of secp256k1")]
pub struct InvalidPrivateKey;

impl PrivateKey {
    /// Creates a random key.
    pub fn random() -> Self {
        loop {
            // All but about one of 2^128 numbers are keys.
            if let Ok(key) = SigningKey::from_bytes(&rand::random::<[u8; 32]>().into()) {
                return Self(key);
            }
        }
    }

    /// Returns the public key of this key.
    pub fn public_key(&self) -> PublicKey {
        public(self.0.verifying_key())
    }

    /// Signs a text.
    pub fn sign(&self, text: &str) -> Signature {
        let (signature, recovery) = self.0.sign_prehash_recoverable(&personal_hash(text)).expect("a hash of 32 bytes can be signed");
        let text = format!("{}{:02x}", hex(&signature.to_bytes()), 27 + recovery.to_byte());
        text.parse().expect("what was made is a signature")
    }

    /// Returns the key as its file has it. The caller must keep it secret.
    pub fn to_text(&self) -> String {
        hex(&self.0.to_bytes())
    }
}

impl FromStr for PrivateKey {
    type Err = InvalidPrivateKey;

    fn from_str(text: &str) -> Result<Self, InvalidPrivateKey> {
        let text = text.trim();
        let bytes: [u8; 32] = unhex(text.strip_prefix("0x").unwrap_or(text)).ok_or(InvalidPrivateKey)?;
        SigningKey::from_bytes(&bytes.into()).map(Self).map_err(|_| InvalidPrivateKey)
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASKED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the documentation of web3.js: `web3.eth.accounts.sign`.
    const KEY: &str = "0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318";
    const TEXT: &str = "Some data";
    const HASH: &str = "1da44b586eb0729ff70a73c326926f6ed5a25f5b056e7f47fbc6e58d86871655";
    const SIGNATURE: &str = "0xb91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c";

    #[test]
    fn a_text_is_signed_as_wallets_sign_it() {
        let key: PrivateKey = KEY.parse().unwrap();
        assert_eq!(hex(&personal_hash(TEXT)), HASH);
        assert_eq!(key.sign(TEXT).as_str(), &SIGNATURE[2..]);
        let signature: Signature = SIGNATURE.to_uppercase().replace("0X", "0x").parse().unwrap();
        assert!(signature.is_by(&key.public_key(), TEXT));
        assert!(!signature.is_by(&key.public_key(), "Some datA") && !signature.is_by(&PrivateKey::random().public_key(), TEXT));
        // The length is in bytes.
        assert!(key.sign("é").is_by(&key.public_key(), "é"));
        assert_eq!(format!("{key:?}"), "***");
        assert_eq!(key.to_text().parse::<PrivateKey>().unwrap().public_key(), key.public_key());
    }

    #[test]
    fn the_last_byte_is_written_in_two_ways_and_has_to_be_right() {
        let key = KEY.parse::<PrivateKey>().unwrap().public_key();
        let with = |v: &str| format!("{}{v}", &SIGNATURE[..130]).parse::<Signature>();
        assert!(with("01").unwrap().is_by(&key, TEXT));
        for other in ["00", "1b"] {
            assert!(!with(other).unwrap().is_by(&key, TEXT), "{other}");
        }
        for bad in ["02", "1a", "1d", "25", "ff"] {
            assert!(matches!(with(bad), Err(InvalidSignature::Recovery(_))), "{bad}");
        }
    }

    #[test]
    fn what_is_no_signature_is_refused_and_so_is_its_twin() {
        let whole = &SIGNATURE[2..];
        for bad in ["", "0x", &whole[1..], &whole[2..], &format!("{whole}00"), &whole.replace('b', "g"), &"é".repeat(65)] {
            assert!(matches!(bad.parse::<Signature>(), Err(InvalidSignature::Form(_))), "{bad}");
        }
        let (signature, _) = numbers(whole).unwrap();
        let twin = format!("{}{}1b", hex(&signature.r().to_bytes()), hex(&(-signature.s()).to_bytes()));
        assert_eq!(twin.parse::<Signature>(), Err(InvalidSignature::HighS));
        for r in ["0".repeat(64), "f".repeat(64)] {
            assert_eq!(format!("{r}{}", &whole[64..]).parse::<Signature>(), Err(InvalidSignature::Range));
        }
        for bad in ["", "00", &"0".repeat(64), &"f".repeat(64), &"é".repeat(32)] {
            assert_eq!(bad.parse::<PrivateKey>().unwrap_err(), InvalidPrivateKey, "{bad}");
        }
    }
}
