//! The entries that messages are parsed into, and the replies to them.

use std::sync::{Mutex, PoisonError};

use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;
use jsonrpsee::types::error::INVALID_REQUEST_CODE;
use jsonrpsee::types::{ErrorObject, Id};
use serde_json::value::RawValue;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::request_id::NumberId;

/// Marks calls that came in an HTTP body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverHttp;

/// Marks notifications: calls whose answers are not sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Notified;

/// Marks the answer to a call whose token ended while it was being answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoggedOut;

/// A message on a WebSocket whose caller still gets the answer after a logout meanwhile, because the call was executed. A call that waits
/// is an exception.
#[derive(Debug)]
pub(crate) struct PendingAnswer(Mutex<Option<TaskTrackerToken>>);

impl PendingAnswer {
    pub(crate) fn new(counted: TaskTrackerToken) -> Self {
        Self(Mutex::new(Some(counted)))
    }

    /// Records that the call waits, for as long as its caller likes.
    pub(crate) fn waits(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Marks an answer that contains a token. It is not compressed, because the compressed length would reveal parts of the token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Secret;

/// The number of bytes of an answer that are already counted in the memory of its connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted(pub(crate) usize);

/// A message, or an entry of a batch.
pub(crate) enum Entry {
    Call(Request<'static>),
    Notification(Request<'static>),
    /// Neither a call nor a notification, with its id if it is known.
    Invalid(Id<'static>, Option<NumberId>),
}

impl Entry {
    /// An entry that is neither a call nor a notification, and has no id.
    pub(crate) const INVALID: Self = Self::Invalid(Id::Null, None);
}

/// The reply to an entry.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The text.
    pub(crate) json: Box<RawValue>,
    /// The number of its bytes that are already counted as an answer.
    pub(crate) counted: usize,
    /// Whether it contains a token.
    pub(crate) has_secret: bool,
    /// Whether the call ended because its token did.
    pub(crate) logged_out: bool,
}

impl From<MethodResponse> for Reply {
    fn from(response: MethodResponse) -> Self {
        let counted = response.extensions().get::<Counted>().map_or(0, |counted| counted.0);
        let logged_out = response.extensions().get::<LoggedOut>().is_some();
        let has_secret = response.extensions().get::<Secret>().is_some();
        Self { json: response.into_json(), counted, has_secret, logged_out }
    }
}

impl Reply {
    /// Returns the reply with this id in place of `null`, if there is one.
    pub(crate) fn with_id(mut self, id: Option<NumberId>) -> Self {
        const BEFORE: &str = r#"{"jsonrpc":"2.0","id":"#;
        if let Some(NumberId(id)) = id
            && let Some(rest) = self.json.get().strip_prefix(BEFORE).and_then(|rest| rest.strip_prefix("null"))
        {
            self.json = RawValue::from_string(format!("{BEFORE}{id}{rest}")).expect("one scalar took the place of another");
        }
        self
    }
}

/// Returns the answer to an invalid request, in the words of the specification.
pub(crate) fn invalid(id: Id<'_>) -> MethodResponse {
    MethodResponse::error(id, ErrorObject::borrowed(INVALID_REQUEST_CODE, "Invalid Request", None))
}
