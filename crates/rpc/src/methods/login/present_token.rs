use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method, Within};
use crate::methods::{sample, tag};
use crate::session::access::slowed;
use crate::session::act::Act;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_access as access;
use hero_model::api::Presented;

/// Switches the connection to this token, for example before the token by which it has logged in expires.
///
/// On a WebSocket where callers have to log in, the connection has the identity of the token from then on, as after
/// `authenticate`. Its waits and subscriptions continue if that identity is allowed to make them, and end with an error
/// (1004) otherwise. An invalid token changes nothing. Over HTTP each request has its own token, so there, and where
/// nobody has to log in, the call only returns the identity of the token.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PresentToken {
    /// The token, as `create_token` or `authenticate` gave it.
    token: String,
}

impl Method for PresentToken {
    const NAME: &'static str = "present_token";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Public;
    const EFFECT: Effect = Effect::Adds;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable];
    const RESULT: &'static str = "The identity of the token, and its expiry.";
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
