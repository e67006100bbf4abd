use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use hero_model::{TokenId, hex, unhex};

/// The prefix of token secrets, by which people and secret scanners recognise them.
const PREFIX: &str = "hero_";
/// The number of random bytes of a secret.
const RANDOM_BYTES: usize = 32;

/// The key that hashes the secrets of tokens. Servers that share a Redis share it; reading Redis alone reveals no
/// secret.
#[derive(Clone)]
pub struct TokenKey([u8; RANDOM_BYTES]);

/// The text is not a token key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it does not hold 64 hexadecimal digits")]
pub struct InvalidTokenKey;

/// The secret that a caller shows: `hero_` and 43 letters.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(String);

impl TokenKey {
    /// Returns a new random key.
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// Returns the text of the key file.
    pub fn to_text(&self) -> String {
        hex(&self.0)
    }

    /// Returns the hash of a secret, or of another text that does not begin as secrets do, in hexadecimal digits.
    pub(super) fn digest(&self, secret: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(secret.as_bytes());
        hex(&mac.finalize().into_bytes())
    }
}

impl FromStr for TokenKey {
    type Err = InvalidTokenKey;

    fn from_str(text: &str) -> Result<Self, InvalidTokenKey> {
        unhex(text.trim()).map(Self).ok_or(InvalidTokenKey)
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl TokenSecret {
    /// Returns a new random secret.
    pub(super) fn random() -> Self {
        Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(rand::random::<[u8; RANDOM_BYTES]>())))
    }

    /// Returns the secret itself. The caller must take care of it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Whether a text looks like the secret of a token.
pub(super) fn is_secret(text: &str) -> bool {
    let random = text.strip_prefix(PREFIX).map_or(&[][..], str::as_bytes);
    random.len() == 43 && random.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Returns the public id of the token with this hash.
pub(super) fn token_id(digest: &str) -> TokenId {
    digest[..16].parse().expect("a digest begins with hexadecimal digits")
}

/// Whether two hashes are equal, compared in constant time.
pub(super) fn same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |differ, (one, other)| differ | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_back_and_tells_nothing_of_itself() {
        let key = TokenKey::random();
        let read: TokenKey = format!("{}\n", key.to_text()).parse().unwrap();
        assert_eq!(key.digest("x"), read.digest("x"));
        assert_ne!(key.digest("x"), TokenKey::random().digest("x"));
        assert_eq!(format!("{key:?} {:?}", TokenSecret::random()), "*** ***");
        for bad in ["", "00", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(bad.parse::<TokenKey>().unwrap_err(), InvalidTokenKey, "{bad}");
        }
    }
}
