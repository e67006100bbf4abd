use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CHANGE_ERRORS;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::act::object;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_access::IdentityChange;
use hero_model::{Identity, IdentityId, PublicKey};

/// Changes an identity. Each given field replaces its old value.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateIdentity {
    /// The identity to change.
    identity_id: IdentityId,
    /// Its new public key.
    pubkey: Option<PublicKey>,
    /// The new addresses at which it can be reached.
    address: Option<Vec<String>>,
}

impl Method for UpdateIdentity {
    const NAME: &'static str = "update_identity";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Operate;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "The changed identity.";
    type Output = Identity;

    fn examples() -> Vec<Example<Self, Identity>> {
        let sample = sample::identity();
        let params = Self { identity_id: sample.identity_id, pubkey: None, address: Some(sample.address.clone()) };
        vec![Example { name: "move", params, result: sample }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    fn names(&self) -> Option<String> {
        Some(object("identity", self.identity_id))
    }

    async fn call(self, app: &App, _: &Session) -> Result<Identity, Error> {
        let change = IdentityChange { pubkey: self.pubkey, address: self.address };
        Ok(app.authority.update_identity(self.identity_id, &change).await?)
    }
}
