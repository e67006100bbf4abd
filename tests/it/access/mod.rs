//! Access control as clients of a server see it: identities, tokens and rights.
#![expect(clippy::unwrap_used, reason = "a test that can't go on shall say so")]

mod anonymous;
mod foreign;
mod identities;
mod lists;
mod login;
mod nonces;
mod operator;
mod outages;
mod permissions;
mod presented;
mod scripts;
mod spoilt;
mod tokens;
mod unreadable;
mod unseen;

use hero::access::{Authority, IdentityChange};
use hero::client::{Client, Error};
use hero::model::{IdentityId, Role};
use serde_json::{Value, json};

use crate::support::{CONTEXT, House, Server};

/// A server whose callers have to log in, over a house without actors.
struct Guarded {
    house: House,
    server: Server,
    authority: Authority,
}

impl Guarded {
    async fn open() -> Self {
        Self::over(House::empty().await).await
    }

    async fn over(house: House) -> Self {
        let (server, authority) = Server::guarded(&house.dispatcher).await;
        Self { house, server, authority }
    }

    /// A new identity with these roles in context 0.
    async fn identity(&self, roles: &[Role]) -> IdentityId {
        let id = self.authority.create_identity(&IdentityChange::default()).await.unwrap().identity_id;
        for role in roles {
            self.authority.set_role(CONTEXT, id, *role, true).await.unwrap();
        }
        id
    }

    /// The secret of a new token.
    async fn secret(&self, identity: IdentityId) -> String {
        self.authority.create_token(identity, None, None, None).await.unwrap().secret.reveal().to_owned()
    }

    /// A connection of this identity.
    async fn client(&self, identity: IdentityId) -> Client {
        let secret = self.secret(identity).await;
        Client::connect(&self.server.url(), Some(&secret)).await.unwrap()
    }

    /// A connection of a new identity with these roles.
    async fn with_roles(&self, roles: &[Role]) -> Client {
        self.client(self.identity(roles).await).await
    }

    /// A connection without a login.
    async fn nobody(&self) -> Client {
        Client::connect(&self.server.url(), None).await.unwrap()
    }
}

/// The code of a refusal; 0 is none.
async fn code(client: &Client, method: &str, params: Value) -> i32 {
    match client.call_named::<Value>(method, params).await {
        Ok(_) => 0,
        Err(Error::Rpc(error)) => error.code,
        Err(error) => panic!("{method}: {error}"),
    }
}

/// A job that this client creates.
async fn job(client: &Client) -> String {
    client.call_named("create_job", json!({ "script": "40 + 2" })).await.unwrap()
}
