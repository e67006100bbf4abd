//! Parses messages: calls, notifications, batches of them, and invalid ones.

pub(crate) mod entry;
pub(crate) mod member_name;
pub(crate) mod oversize;
pub(crate) mod request_id;

use std::fmt;
use std::future::ready;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::Extensions;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;
use jsonrpsee::types::{ErrorCode, Id};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::middleware::Middleware;
use entry::{Entry, OverHttp, Reply, invalid};
use member_name::MemberName;
use oversize::batch_too_large;
use request_id::{NumberId, RawId};

/// Answers a message: a call, a notification or a batch of them. Notifications alone get no answer.
///
/// The future does not borrow the message, so that the message can be dropped while the call takes long.
pub(super) fn answer<'w>(
    middleware: &'w Middleware,
    message: &[u8],
    extensions: &Extensions,
    batch_limit: u32,
) -> BoxFuture<'w, Option<Reply>> {
    let Ok(text) = std::str::from_utf8(message) else { return parse_error() };
    // Exactly the white space of JSON.
    let text = text.trim_start_matches([' ', '\t', '\n', '\r']);
    if !text.starts_with('[') {
        return read(text, extensions).map_or_else(|_| parse_error(), |entry| middleware.one(entry).boxed());
    }
    let Ok(entries) = serde_json::from_str::<Vec<&RawValue>>(text) else { return parse_error() };
    if entries.len() > batch_limit as usize {
        let is_notification = |entry: &&RawValue| matches!(read(entry.get(), extensions), Ok(Entry::Notification(_)));
        if extensions.get::<OverHttp>().is_none() && entries.iter().all(is_notification) {
            tracing::debug!(entries = entries.len(), "a batch of too many notifications was dropped");
            return ready(None).boxed();
        }
        return at_once(MethodResponse::error(Id::Null, batch_too_large(batch_limit)));
    }
    if entries.is_empty() {
        return at_once(invalid(Id::Null));
    }
    let entries = entries.into_iter().map(|entry| read(entry.get(), extensions).unwrap_or(Entry::INVALID));
    middleware.batch(entries.collect()).boxed()
}

fn at_once<'w>(response: MethodResponse) -> BoxFuture<'w, Option<Reply>> {
    ready(Some(Reply::from(response))).boxed()
}

fn parse_error<'w>() -> BoxFuture<'w, Option<Reply>> {
    at_once(MethodResponse::error(Id::Null, ErrorCode::ParseError))
}

/// Parses one entry. Fails only if it is not JSON.
fn read(text: &str, extensions: &Extensions) -> Result<Entry, serde_json::Error> {
    let outline: Outline<'_> = serde_json::from_str(text)?;
    let with_id = |id: Id<'static>| {
        let method: String = serde_json::from_str(outline.method?.get()).ok()?;
        if outline.is_ambiguous || outline.version?.get() != r#""2.0""# {
            return None;
        }
        // Null means "not given", as for a parameter.
        let params = outline.params.filter(|params| params.get() != "null").map(ToOwned::to_owned);
        let mut request = Request::owned(method, params, id);
        *request.extensions_mut() = extensions.clone();
        Some(request)
    };
    Ok(match outline.id() {
        RawId::Id(id) => with_id(id.clone()).map_or(Entry::Invalid(id, None), Entry::Call),
        RawId::Number(number) => {
            let number = NumberId(number.into());
            let Some(mut request) = with_id(Id::Null) else { return Ok(Entry::Invalid(Id::Null, Some(number))) };
            request.extensions_mut().insert(number);
            Entry::Call(request)
        }
        RawId::Nothing => with_id(Id::Null).map_or(Entry::INVALID, Entry::Notification),
        RawId::TooLong | RawId::NoId => Entry::INVALID,
    })
}

/// The members that identify a request.
#[derive(Default)]
struct Outline<'t> {
    version: Option<&'t RawValue>,
    method: Option<&'t RawValue>,
    params: Option<&'t RawValue>,
    id: Option<&'t RawValue>,
    has_two_ids: bool,
    /// Whether a member other than the id occurs twice.
    is_ambiguous: bool,
}

impl<'t> Outline<'t> {
    fn id(&self) -> RawId<'t> {
        match self.id {
            _ if self.has_two_ids => RawId::NoId,
            None => RawId::Nothing,
            Some(raw) => RawId::of(raw.get()),
        }
    }
}

impl<'de: 't, 't> Deserialize<'de> for Outline<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Outline<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut outline = Outline::default();
                while let Some(key) = map.next_key::<MemberName<'_>>()?.map(|MemberName(key)| key) {
                    let member = match &*key {
                        "jsonrpc" => &mut outline.version,
                        "method" => &mut outline.method,
                        "params" => &mut outline.params,
                        "id" => {
                            outline.has_two_ids |= outline.id.replace(map.next_value()?).is_some();
                            continue;
                        }
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    outline.is_ambiguous |= member.replace(map.next_value()?).is_some();
                }
                Ok(outline)
            }

            // JSON that is not an object is not a request.
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Outline::default())
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Outline::default())
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Outline::default())
            }

            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Outline::default())
            }

            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Outline::default())
            }

            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Outline::default())
            }

            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(Outline::default())
            }
        }

        deserializer.deserialize_any(Members)
    }
}
