use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::host;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::PublicKey;

/// Returns a nonce to sign for `authenticate`: `hero:{host}:{random}:{expiry}`.
///
/// It is valid for one login within five minutes, with this public key, under the host name by which the server was
/// reached. Check that name before you sign. The answer is the same whether or not an identity has this key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchNonce {
    /// The public key of the identity that logs in (secp256k1, uncompressed, hexadecimal).
    pubkey: PublicKey,
}

impl Method for FetchNonce {
    const NAME: &'static str = "fetch_nonce";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Public;
    const EFFECT: Effect = Effect::Reads;
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
