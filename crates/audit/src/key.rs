use std::fmt;
use std::str::FromStr;

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use hero_model::{hex, unhex};

/// The number of bytes of a key.
const KEY_BYTES: usize = 32;

/// The key of the hashes of an audit log. Without it nobody can forge a record.
#[derive(Clone)]
pub struct AuditKey {
    bytes: [u8; KEY_BYTES],
    /// The keyed state that each hash starts from.
    mac: Hmac<Sha256>,
}

/// The text is not an audit key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it does not hold 64 hexadecimal digits")]
pub struct InvalidAuditKey;

impl AuditKey {
    /// Returns a new random key.
    pub fn random() -> Self {
        Self::of(rand::random())
    }

    fn of(bytes: [u8; KEY_BYTES]) -> Self {
        Self { bytes, mac: Hmac::new_from_slice(&bytes).expect("HMAC takes keys of any length") }
    }

    /// Returns the text of the key file.
    pub fn to_text(&self) -> String {
        hex(&self.bytes)
    }

    /// Returns the hash of these bytes, in hexadecimal digits.
    pub(super) fn hash(&self, bytes: &[u8]) -> String {
        let mut mac = self.mac.clone();
        mac.update(bytes);
        hex(&mac.finalize().into_bytes())
    }

    /// Whether this is the hash of these bytes, compared in constant time.
    pub(super) fn is_hash(&self, hash: &str, bytes: &[u8]) -> bool {
        let mut mac = self.mac.clone();
        mac.update(bytes);
        // Compared as text: the same digits in upper case would be another text.
        unhex::<KEY_BYTES>(hash).is_some_and(|given| hex(&given) == hash && mac.verify_slice(&given).is_ok())
    }
}

impl FromStr for AuditKey {
    type Err = InvalidAuditKey;

    fn from_str(text: &str) -> Result<Self, InvalidAuditKey> {
        unhex(text.trim()).map(Self::of).ok_or(InvalidAuditKey)
    }
}

impl fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
