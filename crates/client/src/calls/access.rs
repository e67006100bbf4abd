// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::api::{LoggedIn, NewToken, Presented, Who};
use hero_model::{
    Context, ContextId, ContextLimits, ContextPage, Identity, IdentityId, IdentityPage, PublicKey, Role, Seconds, Signature, Token, TokenId,
};

/// Makes an identity: somebody who may be given tokens, and rights in contexts.
#[derive(Default, Serialize)]
pub struct CreateIdentity<'a> {
    /// Its public key (secp256k1, uncompressed, hexadecimal). No two identities have the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pubkey: Option<&'a PublicKey>,
    /// Where it can be reached, 16 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<&'a [String]>,
}

impl Call for CreateIdentity<'_> {
    const NAME: &'static str = "create_identity";
    type Output = Identity;
}

/// Changes an identity: what is given takes the place of what was there.
#[derive(Serialize)]
pub struct UpdateIdentity<'a> {
    /// The identity to change.
    pub identity_id: IdentityId,
    /// Its new public key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pubkey: Option<&'a PublicKey>,
    /// Where it can be reached now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<&'a [String]>,
}

impl Call for UpdateIdentity<'_> {
    const NAME: &'static str = "update_identity";
    type Output = Identity;
}

/// Gives an identity. Where callers log in: yourself, or one that has a role in a context in which you have one.
#[derive(Serialize)]
pub struct GetIdentity {
    /// The identity to look at.
    pub identity_id: IdentityId,
}

impl Call for GetIdentity {
    const NAME: &'static str = "get_identity";
    type Output = Identity;
}

/// Lists identities in the order of their numbers. Where callers log in: yourself, and those that have a role in a
/// context in which you have one. A page may hold fewer than asked for and still have a next.
#[derive(Default, Serialize)]
pub struct ListIdentities<'a> {
    /// The `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The most identities to give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

impl Call for ListIdentities<'_> {
    const NAME: &'static str = "list_identities";
    type Output = IdentityPage;
}

/// Deletes an identity with its tokens: whoever has shown one is logged out. Its number is never given again. Gives
/// true.
#[derive(Serialize)]
pub struct DeleteIdentity {
    /// The identity to delete.
    pub identity_id: IdentityId,
}

impl Call for DeleteIdentity {
    const NAME: &'static str = "delete_identity";
    type Output = bool;
}

/// Tells who makes the call, and what it may do.
#[derive(Default, Serialize)]
pub struct Whoami {}

impl Call for Whoami {
    const NAME: &'static str = "whoami";
    type Output = Who;
}

/// Gives a nonce to sign, with which `authenticate` logs in: `hero:{host}:{random}:{expiry}`. It is good for one login
/// within five minutes, with this public key, under the name by which the server was reached. Look whether that is the
/// one that you meant before you sign. The answer is the same whether or not there is an identity with this key.
#[derive(Serialize)]
pub struct FetchNonce<'a> {
    /// The public key of whoever wants to log in (secp256k1, uncompressed, hexadecimal).
    pub pubkey: &'a PublicKey,
}

impl Call for FetchNonce<'_> {
    const NAME: &'static str = "fetch_nonce";
    type Output = String;
}

/// Logs in by a nonce that was signed, as an Ethereum personal message. Gives a token, which goes into `Authorization:
/// Bearer …`. On a WebSocket where callers have to log in, the connection is that identity from then on. The token ends
/// by itself; of one identity at most 50 of these last, of which the first to end gives way.
#[derive(Serialize)]
pub struct Authenticate<'a> {
    /// The public key for which the nonce was fetched.
    pub pubkey: &'a PublicKey,
    /// The signature: r, s and v, hexadecimal; s in the lower half of its range, v 0, 1, 27 or 28.
    pub signature: &'a Signature,
    /// The nonce, as `fetch_nonce` gave it.
    pub nonce: &'a str,
}

impl Call for Authenticate<'_> {
    const NAME: &'static str = "authenticate";
    type Output = LoggedIn;
}

/// Makes a token of an identity. Its `secret` is told only now: it goes into `Authorization: Bearer …`. An identity may
/// make tokens of its own, 100 at once and one a second from then on: they end with that by which it has logged in,
/// when it expires or is revoked, at the latest. The operator makes those of all. There are at most 100 of one
/// identity.
#[derive(Serialize)]
pub struct CreateToken<'a> {
    /// Whom it stands for.
    pub identity_id: IdentityId,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// After how many seconds it ends; never, if this is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Seconds>,
}

impl Call for CreateToken<'_> {
    const NAME: &'static str = "create_token";
    type Output = NewToken;
}

/// Has the connection go on with this token: a new one, before that by which it has logged in ends. On a WebSocket
/// where callers have to log in, the connection is from then on whoever the token stands for, as after `authenticate`:
/// what it waits for and follows goes on as far as that one may, and ends with an error (1004) where it may not. A
/// token that is none changes nothing. Over HTTP each request has its own token, so there, and where nobody has to log
/// in, this only tells whose token it is.
#[derive(Serialize)]
pub struct PresentToken<'a> {
    /// The token, as `create_token` or `authenticate` gave it.
    pub token: &'a str,
}

impl Call for PresentToken<'_> {
    const NAME: &'static str = "present_token";
    type Output = Presented;
}

/// Lists the tokens of an identity that have not ended, the oldest first.
#[derive(Serialize)]
pub struct ListTokens {
    /// Whose tokens.
    pub identity_id: IdentityId,
}

impl Call for ListTokens {
    const NAME: &'static str = "list_tokens";
    type Output = Vec<Token>;
}

/// Revokes a token: whoever has shown it is logged out at once, also on connections that are open. Gives true. An
/// identity may revoke tokens of its own, the operator all.
#[derive(Serialize)]
pub struct RevokeToken<'a> {
    /// The token to revoke.
    pub token_id: &'a TokenId,
}

impl Call for RevokeToken<'_> {
    const NAME: &'static str = "revoke_token";
    type Output = bool;
}

/// Makes a context: a tenant with a database, jobs, objects and files of its own. It takes calls at once, and those of
/// other servers within a second.
#[derive(Default, Serialize)]
pub struct CreateContext<'a> {
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// Who may do everything in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admins: Option<&'a [IdentityId]>,
    /// What may be used in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<&'a ContextLimits>,
}

impl Call for CreateContext<'_> {
    const NAME: &'static str = "create_context";
    type Output = Context;
}

/// Changes a context. What is not given stays. Limits are the operator's to set; 0 takes one away. It holds at once on
/// this server, and within a second on others. Roles are changed by `grant` and `revoke`.
#[derive(Default, Serialize)]
pub struct UpdateContext<'a> {
    /// The context to change.
    pub context_id: ContextId,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// What may be used in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<&'a ContextLimits>,
}

impl Call for UpdateContext<'_> {
    const NAME: &'static str = "update_context";
    type Output = Context;
}

/// Gives a context: who may do what in it, and what may be used there.
#[derive(Default, Serialize)]
pub struct GetContext {
    /// The context to look at.
    pub context_id: ContextId,
}

impl Call for GetContext {
    const NAME: &'static str = "get_context";
    type Output = Context;
}

/// Lists contexts in the order of their numbers: those in which the caller has a role, or all for the operator.
#[derive(Default, Serialize)]
pub struct ListContexts<'a> {
    /// The `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The most contexts to give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

impl Call for ListContexts<'_> {
    const NAME: &'static str = "list_contexts";
    type Output = ContextPage;
}

/// Deletes a context with everything in it, for good. Its number is never given again. Gives true: it takes no calls
/// from then on, and what it holds goes in the background.
#[derive(Serialize)]
pub struct DeleteContext {
    /// The context to delete.
    pub context_id: ContextId,
    /// Whether jobs that have not ended are stopped, and messages that wait to be sent or for their result are lost.
    /// Otherwise a context that has some is not deleted.
    pub stop_jobs: bool,
}

impl Call for DeleteContext {
    const NAME: &'static str = "delete_context";
    type Output = bool;
}

/// Gives an identity a role in a context. Gives who may do what there now. It holds at once on this server, and within
/// half a second on others.
#[derive(Serialize)]
pub struct Grant {
    /// Who gets the role.
    pub identity_id: IdentityId,
    /// The role.
    pub role: Role,
    /// The context.
    pub context_id: ContextId,
}

impl Call for Grant {
    const NAME: &'static str = "grant";
    type Output = Context;
}

/// Takes a role in a context from an identity. Gives who may do what there now. It holds at once on this server, and
/// within half a second on others.
#[derive(Serialize)]
pub struct Revoke {
    /// Who loses the role.
    pub identity_id: IdentityId,
    /// The role.
    pub role: Role,
    /// The context.
    pub context_id: ContextId,
}

impl Call for Revoke {
    const NAME: &'static str = "revoke";
    type Output = Context;
}
