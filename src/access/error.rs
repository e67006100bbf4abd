use crate::model::{ContextId, IdentityId, TokenId};
use crate::store;

/// Why something about identities, tokens or rights was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such identity (any more).
    #[error("identity {0} does not exist; list_identities gives those that do")]
    NoIdentity(IdentityId),
    /// There is no such token (any more).
    #[error("token {0} does not exist; list_tokens gives those that do")]
    NoToken(TokenId),
    /// The context is not served here.
    #[error("context {0} is not configured on this server")]
    NoContext(ContextId),
    /// Identities and tokens are where context 0 is, which is not served here.
    #[error("identities and tokens are kept where context 0 is, which this server does not serve; ask one that does")]
    Elsewhere,
    /// Another identity has the public key.
    #[error("pubkey: identity {0} has this public key")]
    KeyTaken(IdentityId),
    /// A parameter that cannot be meant.
    #[error("{param}: {message}")]
    Invalid {
        /// The parameter.
        param: &'static str,
        /// What is wrong with it and what to do.
        message: String,
    },
    /// There are as many as may be.
    #[error("there are {0}, and no more may be")]
    Full(&'static str),
    /// The secret of no token, or of one that has ended.
    #[error("the token is unknown, has expired or was revoked")]
    Unknown,
    /// Redis did not do its part.
    #[error("store unavailable: {0}")]
    Store(#[from] store::Error),
}
