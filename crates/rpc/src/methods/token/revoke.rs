use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::TokenId;

/// Revokes a token, and logs out everybody who uses it at once, also on open connections. Returns true.
///
/// An identity may revoke its own tokens, the operator all.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeToken {
    /// The token to revoke.
    token_id: TokenId,
}

impl Method for RevokeToken {
    const NAME: &'static str = "revoke_token";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Identity;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "True.";
    type Output = bool;

    fn examples() -> Vec<Example<Self, bool>> {
        vec![Example { name: "revoke what create_token gave", params: Self { token_id: sample::token().token_id }, result: true }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Token(&self.token_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<bool, Error> {
        app.authority.revoke_token(&self.token_id).await?;
        Ok(true)
    }
}
