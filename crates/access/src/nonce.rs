use std::fmt;
use std::time::Duration;

use super::error::Error;
use super::secret::{TokenKey, same};
use hero_model::{PublicKey, Timestamp, hex};

/// The lifetime of a nonce.
pub(super) const LIFETIME: Duration = Duration::from_secs(300);
/// The number of hexadecimal digits of a nonce's random part, and of its proof.
const DIGITS: usize = 32;
/// The prefix of each nonce.
const PREFIX: &str = "hero";

/// The text that a caller signs to log in: `hero:{host}:{random}:{expiry}`.
///
/// A nonce is not stored. Its proof shows that a server with this key made it for that host and public key. So a caller
/// who asks for many neither fills Redis nor displaces the nonces of others. Only a used nonce is remembered, until it
/// expires.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Nonce<'n> {
    host: &'n str,
    /// The random part, unique for each nonce.
    pub(super) id: &'n str,
    proof: &'n str,
    /// The time at which it expires, in seconds.
    expiry: i64,
}

impl<'n> Nonce<'n> {
    /// Parses a nonce that a server with this key issued for this host and public key.
    pub(super) fn read(text: &'n str, key: &TokenKey, host: &str, public_key: &PublicKey) -> Result<Self, Error> {
        let nonce = Self::parse(text).ok_or(Error::NonceUnknown)?;
        let proof = nonce.proof(key, public_key);
        // A nonce in another spelling, such as with a sign before the expiry, was not issued here.
        let is_ours = nonce.host == host && same(nonce.proof, &proof) && nonce.to_string() == text;
        if is_ours { Ok(nonce) } else { Err(Error::NonceUnknown) }
    }

    fn parse(text: &'n str) -> Option<Self> {
        let mut parts = text.strip_prefix(PREFIX)?.strip_prefix(':')?.rsplitn(3, ':');
        let (expiry, random, host) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
        let (id, proof) = random.split_at_checked(DIGITS)?;
        Some(Self { host, id, proof, expiry })
    }

    /// Returns the proof, which only a server with the key can compute.
    fn proof(&self, key: &TokenKey, public_key: &PublicKey) -> String {
        let mut digest = key.digest(&format!("{PREFIX} nonce {} {public_key} {} {}", self.host, self.id, self.expiry));
        digest.truncate(DIGITS);
        digest
    }

    /// Returns the time at which it expires.
    pub(super) fn end(&self) -> Timestamp {
        Timestamp::from_millis(self.expiry.saturating_mul(1000))
    }
}

impl fmt::Display for Nonce<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}:{}:{}{}:{}", self.host, self.id, self.proof, self.expiry)
    }
}

/// Returns a new nonce for a caller that reaches the server by this host and claims this public key.
pub(super) fn nonce(key: &TokenKey, host: &str, public_key: &PublicKey, now: Timestamp) -> String {
    let id = hex(&rand::random::<[u8; DIGITS / 2]>());
    let nonce = Nonce { host, id: &id, proof: "", expiry: now.plus(LIFETIME).as_millis() / 1000 };
    let proof = nonce.proof(key, public_key);
    Nonce { proof: &proof, ..nonce }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hero_model::PrivateKey;

    #[test]
    fn a_nonce_is_good_for_its_host_and_key_and_those_who_share_the_key_of_tokens() {
        let (servers, public_key) = (TokenKey::random(), PrivateKey::random().public_key());
        let now = Timestamp::from_millis(1_795_255_200_000);
        for host in ["localhost", "hero.example:8700", "[::1]:8700"] {
            let text = nonce(&servers, host, &public_key, now);
            assert!(text.starts_with(&format!("hero:{host}:")) && text.ends_with(":1795255500"), "{text}");
            let same_key: TokenKey = servers.to_text().parse().unwrap();
            assert_eq!(Nonce::read(&text, &same_key, host, &public_key).unwrap().end(), now.plus(LIFETIME));
            let unknown = |text: &str, key: &TokenKey, host: &str, public_key: &PublicKey| {
                assert!(matches!(Nonce::read(text, key, host, public_key), Err(Error::NonceUnknown)), "{text}");
            };
            unknown(&text, &TokenKey::random(), host, &public_key);
            unknown(&text, &servers, "evil.example", &public_key);
            unknown(&text, &servers, host, &PrivateKey::random().public_key());
            for other in [
                text.replace("1795255500", "1795255501"),
                text.replace(":1795255500", ":+1795255500"),
                text.replace(host, "other"),
                format!("{text} "),
                text[1..].to_owned(),
                text.to_uppercase(),
            ] {
                unknown(&other, &servers, host, &public_key);
            }
        }
        for bad in ["", "hero", "hero:", "hero:::", "hero:a:b:c", "hero:a:é:1", &"hero:".repeat(1000)] {
            assert!(Nonce::read(bad, &servers, "a", &public_key).is_err(), "{bad}");
        }
    }
}
