use std::io::{self, Write as _};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use flate2::{Compression, GzBuilder};
use http::{HeaderMap, HeaderValue, header};
use http_body_util::BodyExt as _;
use tokio::sync::Semaphore;

use crate::openrpc::document::OpenRpcDocument;

/// Shorter answers are sent uncompressed.
const MIN_COMPRESSED_BYTES: usize = 1024;
/// Longer answers are compressed on another thread, because that takes more than a millisecond.
const LONG_ANSWER_BYTES: usize = 64 * 1024;
/// The most long answers that are compressed at once. Further ones are sent uncompressed, which costs network time, but no processor.
const MAX_CONCURRENT_COMPRESSIONS: usize = 4;
/// The compression level: 1 shrinks JSON to a fifth at about 100 MB/s, 6 to a sixth at a quarter of that speed.
const LEVEL: u32 = 1;
/// Each answer gets a random number of extra bytes below this, so that its length reveals less about its content.
const MAX_PADDING_BYTES: usize = 100;

/// Compresses long answers of one server for clients that accept gzip.
#[derive(Debug, Clone)]
pub(crate) struct Gzip {
    places: Arc<Semaphore>,
    document: Arc<OpenRpcDocument>,
}

impl Gzip {
    /// Returns the compressor of a server with this document.
    pub(crate) fn new(document: Arc<OpenRpcDocument>) -> Self {
        Self { places: Arc::new(Semaphore::new(MAX_CONCURRENT_COMPRESSIONS)), document }
    }

    /// Adds the body to a response, compressed if the client accepts it and it is worthwhile. Also returns its length.
    pub(super) async fn fill(&self, mut response: Response<()>, body: Bytes, takes_gzip: bool) -> (Response, usize) {
        let is_long_enough = body.len() >= MIN_COMPRESSED_BYTES;
        let packed = if is_long_enough && takes_gzip { self.pack(&body).await.filter(|packed| packed.len() < body.len()) } else { None };
        let headers = response.headers_mut();
        if is_long_enough {
            vary(headers, "accept-encoding");
        }
        if packed.is_some() {
            headers.remove(header::CONTENT_LENGTH);
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let body = packed.map_or(body, Bytes::from);
        let length = body.len();
        (response.map(|()| Body::from(body)), length)
    }

    /// Compresses a text, unless many others are being compressed.
    async fn pack(&self, text: &Bytes) -> Option<Vec<u8>> {
        let packed = if text.len() < LONG_ANSWER_BYTES {
            pack(text)
        } else if let Some(packed) = self.document.gzip_answer(text).await {
            Ok(packed)
        } else {
            let permit = Arc::clone(&self.places).try_acquire_owned().ok()?;
            let text = text.clone();
            let packing = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                pack(&text)
            });
            packing.await.unwrap_or_else(|error| Err(io::Error::other(error)))
        };
        packed.inspect_err(|error| tracing::warn!(%error, "an answer could not be compressed; it is sent as it is")).ok()
    }
}

fn pack(text: &[u8]) -> io::Result<Vec<u8>> {
    // The name of a file, which clients ignore.
    let padding = vec![b'0'; rand::random_range(0..MAX_PADDING_BYTES)];
    let mut gzip = GzBuilder::new().filename(padding).write(Vec::with_capacity(text.len() / 4), Compression::new(LEVEL));
    gzip.write_all(text)?;
    gzip.finish()
}

/// Whether the sender of these headers accepts gzip.
pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let given = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    given.flat_map(|value| value.split(',')).any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        let is_refused = quality.trim().to_ascii_lowercase().strip_prefix("q=").is_some_and(|quality| quality.parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

/// Compresses the answers of plain routes.
pub(super) async fn compress(State(gzip): State<Gzip>, request: Request, next: Next) -> Response {
    let takes_gzip = takes_gzip(request.headers());
    let (mut head, body) = next.run(request).await.into_parts();
    vary(&mut head.headers, "accept-encoding");
    if !takes_gzip {
        return Response::from_parts(head, body);
    }
    // All answers of these routes are in memory already, so this only joins their parts.
    let whole = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    gzip.fill(Response::from_parts(head, ()), whole, true).await.0
}

/// Adds a request header to `Vary`. All are in one list, because some programs read only the first.
pub(super) fn vary(headers: &mut HeaderMap, by: &str) {
    let said = headers.get_all(header::VARY).iter().filter_map(|said| said.to_str().ok());
    let mut all: Vec<&str> = said.flat_map(|said| said.split(',')).map(str::trim).filter(|said| !said.eq_ignore_ascii_case(by)).collect();
    all.push(by);
    if let Ok(all) = HeaderValue::from_str(&all.join(", ")) {
        headers.insert(header::VARY, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_for_those_who_name_it_and_do_not_refuse_it() {
        let takes = |value: &str| takes_gzip(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, value.parse().unwrap())]));
        for yes in ["gzip", "GZIP", "br, gzip", "gzip;q=0.5", "deflate;q=1, gzip ; q=1.0", "gzip;q=0.001"] {
            assert!(takes(yes), "{yes}");
        }
        for no in ["", "identity", "br", "*", "gzip;q=0", "gzip;Q=0", "br, gzip; q=0.0", "xgzip"] {
            assert!(!takes(no), "{no}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn vary_lists_each_header_once_in_one_line() {
        let mut headers = HeaderMap::new();
        ["accept-encoding", "origin", "Accept-Encoding"].into_iter().for_each(|by| vary(&mut headers, by));
        assert_eq!(headers.get_all(header::VARY).iter().collect::<Vec<_>>(), ["origin, Accept-Encoding"]);
    }

    #[tokio::test]
    async fn a_long_answer_is_sent_as_it_is_while_many_are_compressed() {
        let gzip = Gzip::new(Arc::new(OpenRpcDocument::new("")));
        let long = Bytes::from(vec![b' '; LONG_ANSWER_BYTES]);
        let _others = gzip.places.acquire_many(MAX_CONCURRENT_COMPRESSIONS as u32).await.unwrap();
        let sent = async |body: &Bytes| gzip.fill(Response::new(()), body.clone(), true).await.1;
        assert_eq!(sent(&long).await, LONG_ANSWER_BYTES);
        assert!(sent(&long.slice(1..)).await < LONG_ANSWER_BYTES / 10, "a shorter one waits for nobody");
    }
}
