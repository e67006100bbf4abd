use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{IdentityId, Token};

/// Lists the tokens of an identity that have not ended, oldest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTokens {
    /// The identity that has the tokens.
    identity_id: IdentityId,
}

impl Method for ListTokens {
    const NAME: &'static str = "list_tokens";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Identity;
    const EFFECT: Effect = Effect::Reads;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "The tokens, without their secrets.";
    type Output = Vec<Token>;

    fn examples() -> Vec<Example<Self, Vec<Token>>> {
        let token = sample::token();
        vec![Example { name: "tokens", params: Self { identity_id: token.identity_id }, result: vec![token] }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Identity(self.identity_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Vec<Token>, Error> {
        // A mistyped number gets an error, and not an empty list of tokens.
        app.authority.identity(self.identity_id).await?;
        Ok(app.authority.tokens(self.identity_id).await?)
    }
}
