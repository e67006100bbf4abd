use std::future::Future;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode, header};

use super::gzip::{takes_gzip, vary};

/// Answers with a constant text and its ETag: as plain text, compressed, or as not modified.
///
/// The tag is a weak one (RFC 9110, 8.8.1): the same text has the same tag in every encoding.
pub(super) async fn fixed(
    headers: &HeaderMap,
    (media_type, tag): (&'static str, &str),
    plain: (Body, usize),
    packed: impl Future<Output = Option<Bytes>>,
) -> Response {
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|given| given.to_str().ok());
    let mut known = known.flat_map(|given| given.split(',')).map(str::trim);
    // Clients must check for changes each time, because the next version of the server may have another text.
    let weak = format!("W/\"{tag}\"");
    let head = [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-cache"), (header::ETAG, &*weak)];
    let mut response = if known.any(|known| known == "*" || known.trim_start_matches("W/").trim_matches('"') == tag) {
        (StatusCode::NOT_MODIFIED, head).into_response()
    } else if takes_gzip(headers)
        && let Some(packed) = packed.await
    {
        (head, [(header::CONTENT_ENCODING, "gzip")], packed).into_response()
    } else {
        let (body, length) = plain;
        (head, [(header::CONTENT_LENGTH, length.to_string())], body).into_response()
    };
    vary(response.headers_mut(), "accept-encoding");
    response
}
