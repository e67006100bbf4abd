use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{Identity, IdentityId};

/// Returns an identity. Where callers log in, you see only yourself and identities with a role in a context in which
/// you have one.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetIdentity {
    /// The identity to look at.
    identity_id: IdentityId,
}

impl Method for GetIdentity {
    const NAME: &'static str = "get_identity";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Identity;
    const EFFECT: Effect = Effect::Reads;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "The identity.";
    type Output = Identity;

    fn examples() -> Vec<Example<Self, Identity>> {
        let sample = sample::identity();
        vec![Example { name: "get", params: Self { identity_id: sample.identity_id }, result: sample }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Fellow(self.identity_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Identity, Error> {
        Ok(app.authority.identity(self.identity_id).await?)
    }
}
