use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::host;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method, Within};
use crate::methods::{sample, tag};
use crate::session::access::slowed;
use crate::session::act::Act;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_access::{self as access, NewToken};
use hero_model::api::LoggedIn;
use hero_model::{PublicKey, Signature};

/// The longest nonce that is accepted, in bytes.
const MAX_NONCE_BYTES: usize = 512;

/// Logs in with a nonce that is signed as an Ethereum personal message. Returns a token for `Authorization: Bearer …`.
///
/// On a WebSocket where callers have to log in, the connection has that identity from then on. The token expires. An
/// identity has at most 50 tokens of this kind; a further login replaces the one that expires first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Authenticate {
    /// The public key for which the nonce was fetched.
    pubkey: PublicKey,
    /// The signature: r, s and v, hexadecimal; s in the lower half of its range, v 0, 1, 27 or 28.
    signature: Signature,
    /// The nonce, as `fetch_nonce` gave it.
    nonce: String,
}

impl Method for Authenticate {
    const NAME: &'static str = "authenticate";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Public;
    const EFFECT: Effect = Effect::Adds;
    const ERRORS: &'static [Code] = &[Code::QueueFull, Code::StoreUnavailable];
    const TELLS_SECRET: bool = true;
    const RESULT: &'static str = "The token of the session, and its expiry.";
    type Output = LoggedIn;

    fn examples() -> Vec<Example<Self, LoggedIn>> {
        let (key, token) = (sample::private_key(), sample::token());
        let params = Self { pubkey: key.public_key(), signature: key.sign(sample::NONCE), nonce: sample::NONCE.into() };
        let expires_at = sample::time(24 * 60 * 60 * 1000);
        vec![Example {
            name: "log in with the nonce that fetch_nonce gave",
            params,
            result: LoggedIn { identity_id: token.identity_id, token: "hero_kV1r…".into(), expires_at },
        }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, app: &App, session: &Session) -> Result<LoggedIn, Error> {
        let mut unrecorded = Act::NONE;
        self.log_in(app, session, &mut unrecorded).await
    }

    async fn call_within(self, app: &App, session: &Session, within: Within<'_>) -> Result<LoggedIn, Error> {
        self.log_in(app, session, within.act).await
    }

    async fn notify(self, app: &App, session: &Session, act: &mut Act) -> Result<(), Error> {
        self.log_in(app, session, act).await?;
        act.done(None);
        Ok(())
    }
}

impl Authenticate {
    async fn log_in(self, app: &App, session: &Session, act: &mut Act) -> Result<LoggedIn, Error> {
        if self.nonce.len() > MAX_NONCE_BYTES {
            return Err(Error::Params(format!("nonce: has {} bytes, and none has more than {MAX_NONCE_BYTES}", self.nonce.len())));
        }
        let NewToken { token, secret } = match app.authority.authenticate(&host(session)?, &self.pubkey, &self.signature, &self.nonce).await
        {
            Ok(made) => made,
            Err(error @ (access::Error::Store(_) | access::Error::Elsewhere | access::Error::Full(_) | access::Error::TooFast(_))) => {
                // Also a full Redis: clients try that again.
                return Err(Error::Access(error));
            }
            Err(error) => return Err(slowed(session, error.into()).await),
        };
        // From here on, a revocation of the token ends it.
        let login = app.authority.log_in(secret.reveal()).await.map_err(Error::Access)?;
        act.by(&login);
        session.log_in(&login);
        let expires_at = token.expires_at.unwrap_or(token.created_at);
        Ok(LoggedIn { identity_id: token.identity_id, token: secret.reveal().to_owned(), expires_at })
    }
}
