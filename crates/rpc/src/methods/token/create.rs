use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::act::object;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::api::NewToken;
use hero_model::{IdentityId, Seconds};

/// Creates a token for an identity. Its `secret` is shown only once: it goes into `Authorization: Bearer …`.
///
/// An identity may create tokens of its own, 100 at once and then one per second. They end at the latest when the token
/// by which it has logged in expires or is revoked. The operator may create tokens for all. An identity has at most 100
/// of them.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateToken {
    /// Its identity.
    identity_id: IdentityId,
    /// Its purpose.
    name: Option<String>,
    /// The seconds after which it expires; by default it never does.
    lifetime: Option<Seconds>,
}

impl Method for CreateToken {
    const NAME: &'static str = "create_token";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Identity;
    const EFFECT: Effect = Effect::Adds;
    const ERRORS: &'static [Code] = &[Code::QueueFull, Code::StoreUnavailable, Code::NotFound];
    const TELLS_SECRET: bool = true;
    const RESULT: &'static str = "The token. Its secret is shown only once.";
    type Output = NewToken;

    fn examples() -> Vec<Example<Self, NewToken>> {
        let token = sample::token();
        let params = Self { identity_id: token.identity_id, name: token.name.clone(), lifetime: None };
        vec![Example { name: "create", params, result: NewToken { token, secret: sample::SECRET.into() } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Identity(self.identity_id)
    }

    fn made(made: &Self::Output) -> Option<String> {
        Some(format!("{} {}", object("token", &made.token.token_id), object("identity", made.token.identity_id)))
    }

    async fn call(self, app: &App, session: &Session) -> Result<NewToken, Error> {
        if self.lifetime.is_some_and(|lifetime| lifetime.duration().is_zero()) {
            let message = "a token that ends at once is of no use; leave it out for one that never ends".into();
            return Err(hero_access::Error::Invalid { param: "lifetime", message }.into());
        }
        let (by, lifetime) = (session.principal(), self.lifetime.map(Seconds::duration));
        let made = app.authority.create_token(self.identity_id, self.name, lifetime, by.login()).await?;
        Ok(NewToken { token: made.token, secret: made.secret.reveal().to_owned() })
    }
}
