//! Login by a signature, for browsers and wallets.

use std::time::Instant;

use super::authority::{Authority, MAX_TOKEN_ID_ATTEMPTS, NewToken};
use super::error::Error;
use super::nonce::{Nonce, nonce};
use super::secret::{TokenSecret, token_id};
use hero_model::{IdentityId, PublicKey, Signature, Timestamp, Token};
use hero_store::{LoginStored, StoredToken};

/// The name of a token made by a login.
const NAME: &str = "login";

impl Authority {
    /// Returns the nonce that the holder of `public_key` has to sign, if it reaches the server by `host`. The answer
    /// does not tell whether such an identity exists. Nothing is stored.
    pub fn nonce(&self, host: &str, public_key: &PublicKey) -> Result<String, Error> {
        Ok(nonce(self.key(), host, public_key, self.home()?.clock().now()))
    }

    /// Makes a token for the identity that has signed a nonce. Each nonce is good for one token.
    pub async fn authenticate(&self, host: &str, public_key: &PublicKey, signature: &Signature, text: &str) -> Result<NewToken, Error> {
        let store = self.home()?;
        let nonce = Nonce::read(text, self.key(), host, public_key)?;
        if nonce.end() <= store.clock().now() {
            return Err(Error::NonceOver);
        }
        if !signature.is_by(public_key, text) {
            return Err(Error::UnknownKey);
        }
        let identity = store.access().identity_with(public_key).await?.ok_or(Error::UnknownKey)?;
        self.0.pace.pass(identity, Instant::now()).map_err(Error::TooFast)?;
        for _ in 0..MAX_TOKEN_ID_ATTEMPTS {
            let (token, secret) = self.token_of_login(identity, store.clock().now());
            match store.access().log_in(public_key, nonce.id, nonce.end(), &token).await? {
                LoginStored::Stored => return Ok(NewToken { token: token.token, secret }),
                LoginStored::Missing => return Err(Error::UnknownKey),
                LoginStored::Over => return Err(Error::NonceOver),
                LoginStored::Used => return Err(Error::NonceUsed),
                LoginStored::Taken => {}
            }
        }
        Err(Error::Full("too many tokens"))
    }

    fn token_of_login(&self, identity_id: IdentityId, created_at: Timestamp) -> (StoredToken, TokenSecret) {
        let secret = TokenSecret::random();
        let digest = self.key().digest(secret.reveal());
        let end = created_at.plus(self.login_lifetime());
        let token = Token { token_id: token_id(&digest), identity_id, name: Some(NAME.to_owned()), created_at, expires_at: Some(end) };
        (StoredToken { token, expires_ms: Some(end.as_millis()), login: true, parent: None, digest }, secret)
    }
}
