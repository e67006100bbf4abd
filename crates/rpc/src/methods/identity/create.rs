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

/// Creates an identity, which can get tokens, and rights in contexts.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateIdentity {
    /// Its public key (secp256k1, uncompressed, hexadecimal). No two identities share one.
    pubkey: Option<PublicKey>,
    /// The addresses at which it can be reached; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    address: Vec<String>,
}

impl Method for CreateIdentity {
    const NAME: &'static str = "create_identity";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Operate;
    const EFFECT: Effect = Effect::Adds;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "The identity.";
    type Output = Identity;

    fn examples() -> Vec<Example<Self, Identity>> {
        let sample = sample::identity();
        let another = Identity { identity_id: IdentityId(2), pubkey: None, address: Vec::new(), ..sample.clone() };
        vec![
            Example { name: "create", params: Self { pubkey: sample.pubkey.clone(), address: sample.address.clone() }, result: sample },
            Example { name: "one without a key", params: Self { pubkey: None, address: Vec::new() }, result: another },
        ]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    fn made(made: &Self::Output) -> Option<String> {
        Some(object("identity", made.identity_id))
    }

    async fn call(self, app: &App, _: &Session) -> Result<Identity, Error> {
        let change = IdentityChange { pubkey: self.pubkey, address: Some(self.address) };
        Ok(app.authority.create_identity(&change).await?)
    }
}
