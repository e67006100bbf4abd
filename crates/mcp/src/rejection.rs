//! Why a message is refused, and how its sender is told.

use axum::response::{IntoResponse as _, Response};
use http::{StatusCode, header};
use rmcp::model::{ErrorCode, RequestId};
use serde::Serialize;
use serde_json::json;

use super::MOST_VALUES;

/// Why a message is refused.
#[derive(Debug)]
pub(super) enum Rejection {
    /// It has too many values.
    TooMany,
    /// It has more bytes than this.
    TooLong(usize),
    /// Something is wrong with a request, or with what is none; and its id, if that can be given back.
    Request(What, Option<RequestId>),
    /// Something is wrong with a notification.
    Notification(What),
}

/// An error in the words of JSON-RPC.
#[derive(Debug, Serialize)]
pub(super) struct What {
    pub(super) code: i32,
    pub(super) message: String,
}

impl What {
    pub(super) fn parse_error(why: &str) -> Self {
        Self { code: ErrorCode::PARSE_ERROR.0, message: format!("Parse error: {why}") }
    }

    pub(super) fn invalid(why: &str) -> Self {
        Self { code: ErrorCode::INVALID_REQUEST.0, message: format!("Invalid Request: {why}") }
    }

    pub(super) fn invalid_params(why: &str) -> Self {
        Self::params(format!("Invalid params: {why}"))
    }

    /// The same where the message says that it is about a parameter.
    pub(super) fn params(message: String) -> Self {
        Self { code: ErrorCode::INVALID_PARAMS.0, message }
    }
}

impl From<What> for Rejection {
    fn from(what: What) -> Self {
        Self::Request(what, None)
    }
}

impl Rejection {
    /// The text for a message that is too large, which is refused before it is read.
    fn too_large(&self) -> Option<String> {
        match self {
            Self::TooMany => Some(format!("a request to an assistant may have {MOST_VALUES} values; JSON-RPC at / takes more")),
            Self::TooLong(most) => Some(format!("a message to an assistant has {most} bytes at most")),
            Self::Request(..) | Self::Notification(_) => None,
        }
    }

    fn body(self) -> String {
        let (what, id) = match (self.too_large(), self) {
            (_, Self::Request(what, id)) => (what, id),
            (_, Self::Notification(what)) => (what, None),
            (too_large, _) => (What::invalid(&too_large.unwrap_or_default()), None),
        };
        json!({ "jsonrpc": "2.0", "id": id, "error": what }).to_string()
    }

    /// The answer over HTTP, where a notification gets one, too.
    pub(super) fn into_response(self) -> Response {
        match self.too_large() {
            Some(what) => (StatusCode::PAYLOAD_TOO_LARGE, what + "\n").into_response(),
            None => (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], self.body()).into_response(),
        }
    }

    /// The answer as a line. A notification gets none.
    pub(super) fn into_line(self) -> Option<String> {
        (!matches!(self, Self::Notification(_))).then(|| self.body() + "\n")
    }
}
