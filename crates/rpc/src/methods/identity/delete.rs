use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::act::object;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::IdentityId;

/// Deletes an identity with its tokens, and logs out everybody who uses one of them. Its number is never reused.
/// Returns true.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteIdentity {
    /// The identity to delete.
    identity_id: IdentityId,
}

impl Method for DeleteIdentity {
    const NAME: &'static str = "delete_identity";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Operate;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "True.";
    type Output = bool;

    fn examples() -> Vec<Example<Self, bool>> {
        vec![Example { name: "delete", params: Self { identity_id: IdentityId(2) }, result: true }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    fn names(&self) -> Option<String> {
        Some(object("identity", self.identity_id))
    }

    async fn call(self, app: &App, _: &Session) -> Result<bool, Error> {
        app.authority.delete_identity(self.identity_id).await?;
        Ok(true)
    }
}
