//! Identities: who may call.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PageSize, sample, tag};
use crate::act::object;
use crate::app::App;
use crate::auth::{Permission, Principal, Session};
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::memory::Size;
use crate::method::{Example, Method};
use hero_access::IdentityChange;
use hero_model::api::Who;
use hero_model::{Identity, IdentityId, IdentityPage, JobSpec, PublicKey};

/// What making or changing an identity can answer.
const CHANGE_ERRORS: &[Code] = &[Code::State, Code::QueueFull, Code::StoreUnavailable, Code::NotFound];

/// Makes an identity: somebody who may be given tokens, and rights in contexts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateIdentity {
    /// Its public key (secp256k1, uncompressed, hexadecimal). No two identities have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PublicKey")]
    pubkey: Option<PublicKey>,
    /// Where it can be reached, 16 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    address: Vec<String>,
}

impl Method for CreateIdentity {
    const NAME: &'static str = "create_identity";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Operate;
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

/// Changes an identity: what is given takes the place of what was there.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateIdentity {
    /// The identity to change.
    identity_id: IdentityId,
    /// Its new public key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PublicKey")]
    pubkey: Option<PublicKey>,
    /// Where it can be reached now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    address: Option<Vec<String>>,
}

impl Method for UpdateIdentity {
    const NAME: &'static str = "update_identity";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Operate;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "The identity as it is now.";
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

/// Gives an identity. Where callers log in: yourself, or one that has a role in a context in which you have one.
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

/// Lists identities in the order of their numbers. Where callers log in: yourself, and those that have a role in a context in which you have one. A page may
/// hold fewer than asked for and still have a next.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListIdentities {
    /// The `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    cursor: Option<String>,
    /// The most identities to give.
    #[serde(default)]
    limit: PageSize,
}

impl Method for ListIdentities {
    const NAME: &'static str = "list_identities";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Identity;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The identities.";
    type Output = IdentityPage;

    fn examples() -> Vec<Example<Self, IdentityPage>> {
        let params = Self { cursor: None, limit: PageSize::default() };
        vec![Example { name: "identities", params, result: IdentityPage { identities: vec![sample::identity()], next_cursor: None } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, app: &App, session: &Session) -> Result<IdentityPage, Error> {
        let viewer = match session.principal() {
            Principal::Identity(login) => Some(login.identity()),
            Principal::Operator | Principal::Anonymous => None,
        };
        Ok(app.authority.identities(viewer, self.cursor.as_deref(), self.limit.get()).await?)
    }
}

/// Deletes an identity with its tokens: whoever has shown one is logged out. Its number is never given again. Gives true.
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

/// Tells who makes the call, and what it may do.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Whoami {}

impl Method for Whoami {
    const NAME: &'static str = "whoami";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Public;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[];
    const RESULT: &'static str = "Who the caller is, and what it may do.";
    type Output = Who;

    fn examples() -> Vec<Example<Self, Who>> {
        let result = Who { identity_id: None, operator: false, caller_id: JobSpec::ANONYMOUS.into(), roles: BTreeMap::new() };
        vec![Example { name: "nobody", params: Self {}, result }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, app: &App, session: &Session) -> Result<Who, Error> {
        let caller_id = session.caller_id().unwrap_or_else(|| JobSpec::ANONYMOUS.to_owned());
        Ok(match session.principal() {
            Principal::Identity(login) => {
                let roles = app.authority.roles(login.identity());
                Who { identity_id: Some(login.identity()), operator: false, caller_id, roles }
            }
            Principal::Operator => Who { identity_id: None, operator: true, caller_id, roles: BTreeMap::new() },
            Principal::Anonymous => Who { identity_id: None, operator: false, caller_id, roles: BTreeMap::new() },
        })
    }
}
