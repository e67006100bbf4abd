//! Login by a signature, for browsers and wallets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{sample, tag};
use crate::access::slowed;
use crate::act::Act;
use crate::app::App;
use crate::auth::{Permission, Session};
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::method::{Example, Method, Within};
use hero_access::{self as access, NewToken};
use hero_model::api::LoggedIn;
use hero_model::{IdentityId, PublicKey, Signature, Timestamp};

/// The longest nonce that is looked at, in bytes.
const LONGEST: usize = 512;

/// Gives a nonce to sign, with which `authenticate` logs in: `hero:{host}:{random}:{expiry}`.
///
/// It is good for one login within five minutes, with this public key, under the name by which the server was reached. Look whether that is the one that you
/// meant before you sign. The answer is the same whether or not there is an identity with this key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchNonce {
    /// The public key of whoever wants to log in (secp256k1, uncompressed, hexadecimal).
    pubkey: PublicKey,
}

impl Method for FetchNonce {
    const NAME: &'static str = "fetch_nonce";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Public;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable];
    const RESULT: &'static str = "The nonce to sign.";
    type Output = String;

    fn examples() -> Vec<Example<Self, String>> {
        vec![Example { name: "fetch", params: Self { pubkey: sample::private_key().public_key() }, result: sample::NONCE.into() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, app: &App, session: &Session) -> Result<String, Error> {
        Ok(app.authority.nonce(&host(session)?, &self.pubkey)?)
    }
}

/// Logs in by a nonce that was signed, as an Ethereum personal message. Gives a token, which goes into `Authorization: Bearer …`.
///
/// On a WebSocket where callers have to log in, the connection is that identity from then on. The token ends by itself; of one identity at most 50 of these
/// last, of which the first to end gives way.
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
    const ERRORS: &'static [Code] = &[Code::QueueFull, Code::StoreUnavailable];
    const TELLS_SECRET: bool = true;
    const RESULT: &'static str = "The token of the session, and until when it holds.";
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
        if self.nonce.len() > LONGEST {
            return Err(Error::Params(format!("nonce: has {} bytes, and none has more than {LONGEST}", self.nonce.len())));
        }
        let NewToken { token, secret } = match app.authority.authenticate(&host(session)?, &self.pubkey, &self.signature, &self.nonce).await
        {
            Ok(made) => made,
            Err(error @ (access::Error::Store(_) | access::Error::Elsewhere | access::Error::Full(_) | access::Error::TooFast(_))) => {
                return Err(error.into());
            }
            Err(error) => return Err(slowed(session, error.into()).await),
        };
        // From here on it is ended by whoever revokes the token.
        let login = app.authority.log_in(secret.reveal()).await?;
        act.by(&login);
        session.log_in(&login);
        let expires_at = token.expires_at.unwrap_or(token.created_at);
        Ok(LoggedIn { identity_id: token.identity_id, token: secret.reveal().to_owned(), expires_at })
    }
}

/// Has the connection go on with this token: a new one, before that by which it has logged in ends.
///
/// On a WebSocket where callers have to log in, the connection is from then on whoever the token stands for, as after `authenticate`: what it waits for and
/// follows goes on as far as that one may, and ends with an error (1004) where it may not. A token that is none changes nothing. Over HTTP each request has its own
/// token, so there, and where nobody has to log in, this only tells whose token it is.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PresentToken {
    /// The token, as `create_token` or `authenticate` gave it.
    token: String,
}

/// Whom a token stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Presented {
    /// Its identity.
    pub identity_id: IdentityId,
    /// When the token ends, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Timestamp")]
    pub expires_at: Option<Timestamp>,
}

impl Method for PresentToken {
    const NAME: &'static str = "present_token";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Public;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable];
    const RESULT: &'static str = "Whom the token stands for, and until when.";
    type Output = Presented;

    fn examples() -> Vec<Example<Self, Presented>> {
        let result = Presented { identity_id: sample::token().identity_id, expires_at: None };
        vec![Example { name: "go on with a token that create_token made", params: Self { token: sample::SECRET.into() }, result }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, app: &App, session: &Session) -> Result<Presented, Error> {
        let mut unrecorded = Act::NONE;
        self.present(app, session, &mut unrecorded).await
    }

    async fn call_within(self, app: &App, session: &Session, within: Within<'_>) -> Result<Presented, Error> {
        self.present(app, session, within.act).await
    }

    async fn notify(self, app: &App, session: &Session, act: &mut Act) -> Result<(), Error> {
        self.present(app, session, act).await.map(drop)
    }
}

impl PresentToken {
    async fn present(self, app: &App, session: &Session, act: &mut Act) -> Result<Presented, Error> {
        let known = app.authority.known_login(&self.token);
        let login = match known {
            Some(login) => login,
            None => match app.authority.log_in(&self.token).await {
                Ok(login) => login,
                Err(error @ access::Error::Unknown) => return Err(slowed(session, error.into()).await),
                Err(error) => return Err(error.into()),
            },
        };
        act.by(&login);
        session.log_in(&login);
        act.done_once_more();
        Ok(Presented { identity_id: login.identity(), expires_at: login.expires_at() })
    }
}

/// The name by which the server was reached, which stands in nonces: so one cannot be passed on by another server, which has another name.
fn host(session: &Session) -> Result<String, Error> {
    const UNKNOWN: &str = "the server does not know the name and port by which you reach it as its own, so a login could be passed on by somebody else there; \
                           name both in allowed_hosts";
    session.host().ok_or(Error::Denied(UNKNOWN.into()))
}
