use std::time::Duration;

use hero_model::{ContextId, IdentityId, TokenId};
use hero_store::{self as store, OpenJobs, Unlisted};

/// An operation on identities, tokens or rights failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The identity does not exist (any more).
    #[error("identity {0} does not exist; list_identities gives those that do")]
    NoIdentity(IdentityId),
    /// Another program wrote the key of this identity.
    #[error("identity {0} does not exist: actor:{0} was written by another program, and {1}")]
    Unlisted(IdentityId, Unlisted),
    /// The last number is taken.
    #[error("no identity can be made: 4,294,967,295 is the last number, and was given; no number is given twice")]
    NoNumber,
    /// Other programs have taken the next numbers.
    #[error(
        "no identity was made: other programs have taken the numbers that come next, by actor:{{n}} or by roles; call again, which goes on behind them"
    )]
    NumbersTaken,
    /// The token does not exist (any more).
    #[error("token {0} does not exist; list_tokens gives those that do")]
    NoToken(TokenId),
    /// The context does not exist here.
    #[error("context {0} does not exist here; list_contexts gives those that do, and create_context makes one")]
    NoContext(ContextId),
    /// The context is being deleted.
    #[error("context {0} is being deleted, and takes no calls")]
    Deleting(ContextId),
    /// The context is named by the settings.
    #[error(
        "context {0} is named by the settings of this server, so it is not deleted; take it out of contexts there, and start the server again"
    )]
    Configured(ContextId),
    /// The context still has jobs or messages, so it cannot be deleted.
    #[error(
        "context {context} has jobs that have not ended: {} run, {} wait in queues, {} for their time or to be started, and {} messages to be sent, for \
         their result or for their stop to be told; stop_jobs has all of it end",
        jobs.running, jobs.queued, jobs.scheduled, jobs.messages
    )]
    HasJobs {
        /// The context.
        context: ContextId,
        /// Its jobs.
        jobs: OpenJobs,
    },
    /// Redis has no database for another context.
    #[error("no context can be added: {0}")]
    NoDatabase(String),
    /// Identities and tokens are kept with context 0, which this server does not serve.
    #[error("identities and tokens are kept where context 0 is, which this server does not serve; ask one that does")]
    Elsewhere,
    /// Another identity has the public key.
    #[error("pubkey: identity {0} has this public key")]
    KeyTaken(IdentityId),
    /// A parameter is invalid.
    #[error("{param}: {message}")]
    Invalid {
        /// The parameter.
        param: &'static str,
        /// The fault and its remedy.
        message: String,
    },
    /// A maximum number is reached.
    #[error("there are {0}, and no more may be")]
    Full(&'static str),
    /// An identity makes tokens too fast.
    #[error("an identity makes 100 tokens at once, and one a second from then on; try again in {} ms", .0.as_millis())]
    TooFast(Duration),
    /// The secret belongs to no token, or to one that has ended.
    #[error("the token is unknown, has expired or was revoked")]
    Unknown,
    /// The token ended during a call.
    #[error("the token was revoked or has expired while the call was answered; what the call did until then is done, and jobs go on")]
    LoggedOut,
    /// A request without login is larger than a login needs.
    #[error("not authenticated: a request with more than a few KB needs a token; send `Authorization: Bearer …`, or log in first")]
    Nobody,
    /// The nonce was not issued here for this public key and this name of the server.
    #[error(
        "the nonce is none that this server gave for this public key and under this name (or servers behind one name have different token keys); \
         call fetch_nonce, sign what it gives, and authenticate under the same name"
    )]
    NonceUnknown,
    /// The nonce has expired.
    #[error("the nonce has expired: one is good for five minutes; call fetch_nonce again")]
    NonceOver,
    /// The nonce was used already.
    #[error("the nonce was used already: one is good for one login; call fetch_nonce again")]
    NonceUsed,
    /// No identity has the public key, or the signature does not match it.
    #[error("no identity has this public key, or it has not signed the nonce (as an Ethereum personal message)")]
    UnknownKey,
    /// Redis failed.
    #[error("store unavailable: {0}")]
    Store(store::Error),
}

impl Error {
    /// Returns the error for a cursor that did not come from hero.
    pub(super) fn bad_cursor() -> Self {
        Self::Invalid { param: "cursor", message: "is not a cursor; use next_cursor of the page before".into() }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Deleting(context) => Self::Deleting(context),
            error => Self::Store(error),
        }
    }
}
