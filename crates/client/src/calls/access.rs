// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::api::{LoggedIn, NewToken, Presented, Who};
use hero_model::{
    Context, ContextId, ContextLimits, ContextPage, Identity, IdentityId, IdentityPage, PublicKey, Role, Seconds, Signature, Token, TokenId,
};

/// Creates an identity, which can get tokens, and rights in contexts.
#[derive(Default, Serialize)]
pub struct CreateIdentity<'a> {
    /// Its public key (secp256k1, uncompressed, hexadecimal). No two identities share one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pubkey: Option<&'a PublicKey>,
    /// The addresses at which it can be reached; at most 16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<&'a [String]>,
}

impl Call for CreateIdentity<'_> {
    const NAME: &'static str = "create_identity";
    type Output = Identity;
}

/// Changes an identity. Each given field replaces its old value.
#[derive(Serialize)]
pub struct UpdateIdentity<'a> {
    /// The identity to change.
    pub identity_id: IdentityId,
    /// Its new public key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pubkey: Option<&'a PublicKey>,
    /// The new addresses at which it can be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<&'a [String]>,
}

impl Call for UpdateIdentity<'_> {
    const NAME: &'static str = "update_identity";
    type Output = Identity;
}

/// Returns an identity. Where callers log in, you see only yourself and identities with a role in a context in which
/// you have one.
#[derive(Serialize)]
pub struct GetIdentity {
    /// The identity to look at.
    pub identity_id: IdentityId,
}

impl Call for GetIdentity {
    const NAME: &'static str = "get_identity";
    type Output = Identity;
}

/// Lists identities by number. Where callers log in, you see only yourself and identities with a role in a context in
/// which you have one. A page may have fewer identities than `limit` although more follow.
#[derive(Default, Serialize)]
pub struct ListIdentities<'a> {
    /// The `next_cursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The maximum number of identities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

impl Call for ListIdentities<'_> {
    const NAME: &'static str = "list_identities";
    type Output = IdentityPage;
}

/// Deletes an identity with its tokens, and logs out everybody who uses one of them. Its number is never reused.
/// Returns true.
#[derive(Serialize)]
pub struct DeleteIdentity {
    /// The identity to delete.
    pub identity_id: IdentityId,
}

impl Call for DeleteIdentity {
    const NAME: &'static str = "delete_identity";
    type Output = bool;
}

/// Returns the caller and its rights.
#[derive(Default, Serialize)]
pub struct Whoami {}

impl Call for Whoami {
    const NAME: &'static str = "whoami";
    type Output = Who;
}

/// Returns a nonce to sign for `authenticate`: `hero:{host}:{random}:{expiry}`. It is valid for one login within five
/// minutes, with this public key, under the host name by which the server was reached. Check that name before you sign.
/// The answer is the same whether or not an identity has this key.
#[derive(Serialize)]
pub struct FetchNonce<'a> {
    /// The public key of the identity that logs in (secp256k1, uncompressed, hexadecimal).
    pub pubkey: &'a PublicKey,
}

impl Call for FetchNonce<'_> {
    const NAME: &'static str = "fetch_nonce";
    type Output = String;
}

/// Logs in with a nonce that is signed as an Ethereum personal message. Returns a token for `Authorization: Bearer …`.
/// On a WebSocket where callers have to log in, the connection has that identity from then on. The token expires. An
/// identity has at most 50 tokens of this kind; a further login replaces the one that expires first.
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

/// Creates a token for an identity. Its `secret` is shown only once: it goes into `Authorization: Bearer …`. An
/// identity may create tokens of its own, 100 at once and then one per second. They end at the latest when the token by
/// which it has logged in expires or is revoked. The operator may create tokens for all. An identity has at most 100 of
/// them.
#[derive(Serialize)]
pub struct CreateToken<'a> {
    /// Its identity.
    pub identity_id: IdentityId,
    /// Its purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// The seconds after which it expires; by default it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Seconds>,
}

impl Call for CreateToken<'_> {
    const NAME: &'static str = "create_token";
    type Output = NewToken;
}

/// Switches the connection to this token, for example before the token by which it has logged in expires. On a
/// WebSocket where callers have to log in, the connection has the identity of the token from then on, as after
/// `authenticate`. Its waits and subscriptions continue if that identity is allowed to make them, and end with an error
/// (1004) otherwise. An invalid token changes nothing. Over HTTP each request has its own token, so there, and where
/// nobody has to log in, the call only returns the identity of the token.
#[derive(Serialize)]
pub struct PresentToken<'a> {
    /// The token, as `create_token` or `authenticate` gave it.
    pub token: &'a str,
}

impl Call for PresentToken<'_> {
    const NAME: &'static str = "present_token";
    type Output = Presented;
}

/// Lists the tokens of an identity that have not ended, oldest first.
#[derive(Serialize)]
pub struct ListTokens {
    /// The identity that has the tokens.
    pub identity_id: IdentityId,
}

impl Call for ListTokens {
    const NAME: &'static str = "list_tokens";
    type Output = Vec<Token>;
}

/// Revokes a token, and logs out everybody who uses it at once, also on open connections. Returns true. An identity may
/// revoke its own tokens, the operator all.
#[derive(Serialize)]
pub struct RevokeToken<'a> {
    /// The token to revoke.
    pub token_id: &'a TokenId,
}

impl Call for RevokeToken<'_> {
    const NAME: &'static str = "revoke_token";
    type Output = bool;
}

/// Creates a context: a tenant with its own database, jobs, objects and files. This server accepts calls for it at
/// once, other servers within a second.
#[derive(Default, Serialize)]
pub struct CreateContext<'a> {
    /// Its purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// The identities that may do everything in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admins: Option<&'a [IdentityId]>,
    /// Its limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<&'a ContextLimits>,
}

impl Call for CreateContext<'_> {
    const NAME: &'static str = "create_context";
    type Output = Context;
}

/// Changes a context. Fields that are not given stay as they are. Limits are the operator's to set; 0 takes one away.
/// It holds at once on this server, and within a second on others. Roles are changed by `grant` and `revoke`.
#[derive(Default, Serialize)]
pub struct UpdateContext<'a> {
    /// The context to change.
    pub context_id: ContextId,
    /// Its purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// Its limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<&'a ContextLimits>,
}

impl Call for UpdateContext<'_> {
    const NAME: &'static str = "update_context";
    type Output = Context;
}

/// Returns a context with its roles and limits.
#[derive(Default, Serialize)]
pub struct GetContext {
    /// The context to look at.
    pub context_id: ContextId,
}

impl Call for GetContext {
    const NAME: &'static str = "get_context";
    type Output = Context;
}

/// Lists contexts by number: those in which the caller has a role, or all for the operator.
#[derive(Default, Serialize)]
pub struct ListContexts<'a> {
    /// The `next_cursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The maximum number of contexts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

impl Call for ListContexts<'_> {
    const NAME: &'static str = "list_contexts";
    type Output = ContextPage;
}

/// Deletes a context with everything in it, for good. Its number is never reused. Returns true. From then on the
/// context accepts no calls; its data is deleted in the background.
#[derive(Serialize)]
pub struct DeleteContext {
    /// The context to delete.
    pub context_id: ContextId,
    /// Whether to stop jobs that have not ended, and to lose messages that wait to be sent or for their result.
    /// Otherwise a context with such jobs or messages is not deleted.
    pub stop_jobs: bool,
}

impl Call for DeleteContext {
    const NAME: &'static str = "delete_context";
    type Output = bool;
}

/// Gives an identity a role in a context. Returns the context with its roles. The change applies at once on this
/// server, and within half a second on others.
#[derive(Serialize)]
pub struct Grant {
    /// The identity that gets the role.
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

/// Takes a role in a context from an identity. Returns the context with its roles. The change applies at once on this
/// server, and within half a second on others.
#[derive(Serialize)]
pub struct Revoke {
    /// The identity that loses the role.
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
