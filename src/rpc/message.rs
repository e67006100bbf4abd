use std::borrow::Cow;
use std::future::ready;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::Extensions;
use jsonrpsee::server::middleware::rpc::{Batch, BatchEntry, BatchEntryErr, Notification, Request, RpcServiceT};
use jsonrpsee::server::{MethodResponse, prepare_error};
use jsonrpsee::types::error::reject_too_big_batch_request;
use jsonrpsee::types::{ErrorCode, ErrorObject, Id, InvalidRequest};
use serde_json::value::RawValue;

use super::layers::{Way, short};

/// Answers a message: a call, a notification or a batch of them. The message is let go once it is read; a call may take long.
pub(super) fn answer<'w>(way: &'w Way, message: &[u8], extensions: &Extensions, batch_limit: usize) -> BoxFuture<'w, MethodResponse> {
    let begin = message.iter().take(128).position(|byte| !byte.is_ascii_whitespace());
    match begin.map(|at| &message[at..]) {
        Some(text @ [b'{', ..]) => match read(text, extensions) {
            Some(BatchEntry::Call(request)) => way.call(request).boxed(),
            Some(BatchEntry::Notification(notification)) => way.notification(notification).boxed(),
            None => {
                let (id, code) = prepare_error(text);
                at_once(MethodResponse::error(short(id), ErrorObject::from(code)))
            }
        },
        Some(text @ [b'[', ..]) => {
            let Ok(entries) = serde_json::from_slice::<Vec<&RawValue>>(text) else { return at_once(parse_error()) };
            if entries.len() > batch_limit {
                return at_once(MethodResponse::error(Id::Null, reject_too_big_batch_request(batch_limit)));
            }
            let entries = entries.into_iter().map(|entry| {
                let entry = entry.get().as_bytes();
                read(entry, extensions).ok_or_else(|| {
                    let id = serde_json::from_slice::<InvalidRequest<'_>>(entry).map_or(Id::Null, |invalid| invalid.id.into_owned());
                    BatchEntryErr::new(id, ErrorCode::InvalidRequest.into())
                })
            });
            way.batch(Batch::from(entries.collect())).boxed()
        }
        _ => at_once(parse_error()),
    }
}

fn at_once<'w>(response: MethodResponse) -> BoxFuture<'w, MethodResponse> {
    ready(response).boxed()
}

fn parse_error() -> MethodResponse {
    MethodResponse::error(Id::Null, ErrorCode::ParseError)
}

fn read(text: &[u8], extensions: &Extensions) -> Option<BatchEntry<'static>> {
    if let Ok(request) = serde_json::from_slice::<Request<'_>>(text) {
        let mut call = Request::owned(request.method.into_owned(), request.params.map(Cow::into_owned), request.id.into_owned());
        *call.extensions_mut() = extensions.clone();
        return Some(BatchEntry::Call(call));
    }
    let notification = serde_json::from_slice::<Notification<'_>>(text).ok()?;
    let params = notification.params.map(|params| Cow::Owned(params.into_owned()));
    let mut notification = Notification::new(Cow::Owned(notification.method.into_owned()), params);
    *notification.extensions_mut() = extensions.clone();
    Some(BatchEntry::Notification(notification))
}
