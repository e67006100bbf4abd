use http::Extensions;
use jsonrpsee::server::middleware::rpc::{Batch, BatchEntry, BatchEntryErr, Notification, Request, RpcServiceT};
use jsonrpsee::server::{MethodResponse, prepare_error};
use jsonrpsee::types::error::reject_too_big_batch_request;
use jsonrpsee::types::{ErrorCode, ErrorObject, Id, InvalidRequest};
use serde_json::value::RawValue;

use crate::rpc::layers::Way;

/// Answers a message: a call, a notification or a batch of them.
pub(super) async fn answer(way: &Way, message: &[u8], extensions: &Extensions, batch_limit: usize) -> MethodResponse {
    let begin = message.iter().take(128).position(|byte| !byte.is_ascii_whitespace());
    match begin.map(|at| &message[at..]) {
        Some(text @ [b'{', ..]) => match read(text, extensions) {
            Some(BatchEntry::Call(request)) => way.call(request).await,
            Some(BatchEntry::Notification(notification)) => way.notification(notification).await,
            None => {
                let (id, code) = prepare_error(text);
                MethodResponse::error(id, ErrorObject::from(code))
            }
        },
        Some(text @ [b'[', ..]) => {
            let Ok(entries) = serde_json::from_slice::<Vec<&RawValue>>(text) else { return parse_error() };
            if entries.len() > batch_limit {
                return MethodResponse::error(Id::Null, reject_too_big_batch_request(batch_limit));
            }
            let entries = entries.into_iter().map(|entry| {
                let entry = entry.get().as_bytes();
                read(entry, extensions).ok_or_else(|| {
                    let id = serde_json::from_slice::<InvalidRequest<'_>>(entry).map_or(Id::Null, |invalid| invalid.id);
                    BatchEntryErr::new(id, ErrorCode::InvalidRequest.into())
                })
            });
            way.batch(Batch::from(entries.collect())).await
        }
        _ => parse_error(),
    }
}

fn parse_error() -> MethodResponse {
    MethodResponse::error(Id::Null, ErrorCode::ParseError)
}

fn read<'a>(text: &'a [u8], extensions: &Extensions) -> Option<BatchEntry<'a>> {
    if let Ok(mut request) = serde_json::from_slice::<Request<'a>>(text) {
        *request.extensions_mut() = extensions.clone();
        return Some(BatchEntry::Call(request));
    }
    let mut notification = serde_json::from_slice::<Notification<'a>>(text).ok()?;
    *notification.extensions_mut() = extensions.clone();
    Some(BatchEntry::Notification(notification))
}
