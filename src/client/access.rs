use std::time::Duration;

use serde_json::json;

use super::connection::Client;
use super::error::Error;
use crate::model::{ContextId, ContextRights, Identity, IdentityId, IdentityPage, PublicKey, Role, Seconds, Token, TokenId};
use crate::rpc::methods::identity::Who;
use crate::rpc::methods::token::NewToken;

/// The methods for identities, tokens and rights.
impl Client {
    /// Makes an identity.
    pub async fn create_identity(&self, pubkey: Option<&PublicKey>, address: &[String]) -> Result<Identity, Error> {
        self.call("create_identity", json!({ "pubkey": pubkey, "address": address })).await
    }

    /// Changes what is given of an identity.
    pub async fn update_identity(
        &self,
        identity_id: IdentityId,
        pubkey: Option<&PublicKey>,
        address: Option<&[String]>,
    ) -> Result<Identity, Error> {
        self.call("update_identity", json!({ "identity_id": identity_id, "pubkey": pubkey, "address": address })).await
    }

    /// An identity.
    pub async fn get_identity(&self, identity_id: IdentityId) -> Result<Identity, Error> {
        self.call("get_identity", json!({ "identity_id": identity_id })).await
    }

    /// A page of identities, in the order of their numbers.
    pub async fn list_identities(&self, cursor: Option<&str>, limit: usize) -> Result<IdentityPage, Error> {
        self.call("list_identities", json!({ "cursor": cursor, "limit": limit })).await
    }

    /// Deletes an identity with its tokens.
    pub async fn delete_identity(&self, identity_id: IdentityId) -> Result<(), Error> {
        self.call::<bool>("delete_identity", json!({ "identity_id": identity_id })).await.map(drop)
    }

    /// Tells who this client is to the server.
    pub async fn whoami(&self) -> Result<Who, Error> {
        self.call("whoami", json!({})).await
    }

    /// Makes a token of an identity, with its secret.
    pub async fn create_token(&self, identity_id: IdentityId, name: Option<&str>, lifetime: Option<Duration>) -> Result<NewToken, Error> {
        let lifetime = lifetime.map(Seconds::from);
        self.call("create_token", json!({ "identity_id": identity_id, "name": name, "lifetime": lifetime })).await
    }

    /// The tokens of an identity.
    pub async fn list_tokens(&self, identity_id: IdentityId) -> Result<Vec<Token>, Error> {
        self.call("list_tokens", json!({ "identity_id": identity_id })).await
    }

    /// Revokes a token.
    pub async fn revoke_token(&self, token_id: &TokenId) -> Result<(), Error> {
        self.call::<bool>("revoke_token", json!({ "token_id": token_id })).await.map(drop)
    }

    /// Who may do what in a context.
    pub async fn get_rights(&self, context_id: ContextId) -> Result<ContextRights, Error> {
        self.call("get_rights", json!({ "context_id": context_id })).await
    }

    /// Gives an identity a role in a context, or takes it away.
    pub async fn set_role(
        &self,
        identity_id: IdentityId,
        role: Role,
        context_id: ContextId,
        granted: bool,
    ) -> Result<ContextRights, Error> {
        let method = if granted { "grant" } else { "revoke" };
        self.call(method, json!({ "identity_id": identity_id, "role": role, "context_id": context_id })).await
    }
}
