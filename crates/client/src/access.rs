use std::time::Duration;

use super::address::Address;
use super::calls::{
    CreateContext, CreateIdentity, CreateToken, DeleteContext, DeleteIdentity, GetContext, GetIdentity, Grant, ListContexts,
    ListIdentities, ListTokens, Revoke, RevokeToken, UpdateContext, UpdateIdentity, Whoami,
};
use super::connection::Client;
use super::error::Error;
use super::login;
use hero_model::api::{LoggedIn, NewToken, Who};
use hero_model::{
    Context, ContextId, ContextLimits, ContextPage, Identity, IdentityId, IdentityPage, PrivateKey, PublicKey, Role, Seconds, Token,
    TokenId,
};

/// The methods for identities, tokens and rights.
impl Client {
    /// Creates an identity.
    pub async fn create_identity(&self, pubkey: Option<&PublicKey>, address: &[String]) -> Result<Identity, Error> {
        self.call(&CreateIdentity { pubkey, address: Some(address) }).await
    }

    /// Changes the given fields of an identity.
    pub async fn update_identity(
        &self,
        identity_id: IdentityId,
        pubkey: Option<&PublicKey>,
        address: Option<&[String]>,
    ) -> Result<Identity, Error> {
        self.call(&UpdateIdentity { identity_id, pubkey, address }).await
    }

    /// Returns an identity.
    pub async fn get_identity(&self, identity_id: IdentityId) -> Result<Identity, Error> {
        self.call(&GetIdentity { identity_id }).await
    }

    /// Returns a page of identities, in the order of their numbers.
    pub async fn list_identities(&self, cursor: Option<&str>, limit: usize) -> Result<IdentityPage, Error> {
        self.call(&ListIdentities { cursor, limit: Some(limit) }).await
    }

    /// Deletes an identity with its tokens.
    pub async fn delete_identity(&self, identity_id: IdentityId) -> Result<(), Error> {
        self.call(&DeleteIdentity { identity_id }).await.map(drop)
    }

    /// Returns the identity of this client.
    pub async fn whoami(&self) -> Result<Who, Error> {
        self.call(&Whoami {}).await
    }

    /// Logs in as the identity with this key. If callers have to log in, this connection has that identity from now on.
    /// The returned token proves it on other connections.
    ///
    /// The client also logs in on each later connection.
    ///
    /// Signs no text that names another server than the one that this client is connected to.
    pub async fn log_in(&self, key: &PrivateKey) -> Result<LoggedIn, Error> {
        let way = &self.link.way;
        let host = way.address.as_ref().map_or("localhost", Address::host);
        let logged_in = login::log_in(&*self.link.wire(true).await?, host, key, way.answer).await?;
        self.stay_logged_in(key);
        Ok(logged_in)
    }

    /// Creates a token of an identity. The result contains its secret.
    pub async fn create_token(&self, identity_id: IdentityId, name: Option<&str>, lifetime: Option<Duration>) -> Result<NewToken, Error> {
        let lifetime = lifetime.map(Seconds::from);
        self.call(&CreateToken { identity_id, name, lifetime }).await
    }

    /// Returns the tokens of an identity.
    pub async fn list_tokens(&self, identity_id: IdentityId) -> Result<Vec<Token>, Error> {
        self.call(&ListTokens { identity_id }).await
    }

    /// Revokes a token.
    pub async fn revoke_token(&self, token_id: &TokenId) -> Result<(), Error> {
        self.call(&RevokeToken { token_id }).await.map(drop)
    }

    /// Creates a context.
    pub async fn create_context(&self, name: Option<&str>, admins: &[IdentityId], limits: ContextLimits) -> Result<Context, Error> {
        self.call(&CreateContext { name, admins: Some(admins), limits: Some(&limits) }).await
    }

    /// Changes the given fields of a context.
    pub async fn update_context(&self, context_id: ContextId, name: Option<&str>, limits: ContextLimits) -> Result<Context, Error> {
        let limits = Some(&limits).filter(|limits| **limits != ContextLimits::default());
        self.call(&UpdateContext { context_id, name, limits }).await
    }

    /// Returns a context.
    pub async fn get_context(&self, context_id: ContextId) -> Result<Context, Error> {
        self.call(&GetContext { context_id }).await
    }

    /// Returns a page of the contexts that this client may see, in the order of their numbers.
    pub async fn list_contexts(&self, cursor: Option<&str>, limit: usize) -> Result<ContextPage, Error> {
        self.call(&ListContexts { cursor, limit: Some(limit) }).await
    }

    /// Deletes a context with everything in it. Refused while it has jobs that have not ended, unless `stop_jobs` is
    /// true.
    pub async fn delete_context(&self, context_id: ContextId, stop_jobs: bool) -> Result<(), Error> {
        self.call(&DeleteContext { context_id, stop_jobs }).await.map(drop)
    }

    /// Grants a role in a context to an identity, or revokes it.
    pub async fn set_role(&self, identity_id: IdentityId, role: Role, context_id: ContextId, granted: bool) -> Result<Context, Error> {
        if granted {
            self.call(&Grant { identity_id, role, context_id }).await
        } else {
            self.call(&Revoke { identity_id, role, context_id }).await
        }
    }
}
