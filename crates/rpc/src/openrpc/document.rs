use std::sync::Arc;

use axum::body::{Body, Bytes};
use futures_util::stream;
use quick_cache::sync::Cache;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;

use crate::gzip_text::GzipText;
use crate::session::server_address::ServerAddress;
use hero_model::hex;
use hero_service::away;

/// The URL of the server in the document, unless the request for it named another.
pub(crate) const HTTP: &str = "http://127.0.0.1:8700/";
/// The URL for WebSockets in the document, unless the request for it named another.
pub(crate) const WEBSOCKET: &str = "ws://127.0.0.1:8700/";

/// The document as it is sent, with the URLs of the address under which the client reached the server.
#[derive(Debug)]
pub(crate) struct OpenRpcDocument {
    /// The parts of the document before, between and after the two URLs. All readers share them.
    parts: [Bytes; 3],
    /// The digest, which tells versions of the parts apart.
    digest: [u8; 32],
    /// The last part, which is nearly all of the document, compressed at its first use.
    compressed: OnceCell<GzipText>,
    /// The whole texts for the most recent addresses.
    texts: Cache<Option<[String; 2]>, Arc<RawValue>>,
}

/// The number of addresses for which the whole text is kept.
const MAX_CACHED_ADDRESSES: usize = 8;

impl OpenRpcDocument {
    /// Returns the document of a table.
    pub(crate) fn new(document: &str) -> Self {
        let (before, rest) = document.split_once(HTTP).unwrap_or((document, ""));
        let (between, behind) = rest.split_once(WEBSOCKET).unwrap_or((rest, ""));
        let parts = [before, between, behind].map(|part| Bytes::copy_from_slice(part.as_bytes()));
        Self { parts, digest: Sha256::digest(document).into(), compressed: OnceCell::new(), texts: Cache::new(MAX_CACHED_ADDRESSES) }
    }

    fn pieces(&self, address: Option<&ServerAddress>) -> [Bytes; 5] {
        let known = || [HTTP, WEBSOCKET].map(|url| Bytes::from_static(url.as_bytes()));
        let [http, websocket] = address.and_then(ServerAddress::urls).map_or_else(known, |urls| urls.map(Bytes::from));
        let [before, between, behind] = self.parts.clone();
        [before, http, between, websocket, behind]
    }

    /// Returns the document as text, for a client that used this address.
    pub(crate) fn text(&self, address: Option<&ServerAddress>) -> Arc<RawValue> {
        let made = self.texts.get_or_insert_with(&address.and_then(ServerAddress::urls), || {
            let text = String::from_utf8(self.pieces(address).concat()).expect("each piece is text");
            Ok::<_, std::convert::Infallible>(RawValue::from_string(text).expect("the document is JSON at any address").into())
        });
        made.unwrap_or_else(|never| match never {})
    }

    /// Returns the document as a body that copies none of its parts, and its length.
    pub(crate) fn body(&self, address: Option<&ServerAddress>) -> (Body, usize) {
        let pieces = self.pieces(address);
        let length = pieces.iter().map(Bytes::len).sum();
        (Body::from_stream(stream::iter(pieces.map(Ok::<_, std::convert::Infallible>))), length)
    }

    /// Returns the ETag of the document, for a client that used this address.
    pub(crate) fn tag(&self, address: Option<&ServerAddress>) -> String {
        let [_, http, _, websocket, _] = self.pieces(address);
        let whole = Sha256::new().chain_update(self.digest).chain_update(http).chain_update(" ").chain_update(websocket);
        hex(&whole.finalize()[..8])
    }

    /// Returns the compressed document.
    pub(crate) async fn gzip(&self, address: Option<&ServerAddress>) -> Option<Vec<u8>> {
        let [before, http, between, websocket, _] = self.pieces(address);
        let compressed = self.compressed().await?;
        Some(compressed.between(&[before, http, between, websocket].concat(), b""))
    }

    /// Returns a compressed answer with the document as its result. None: it is another answer.
    pub(crate) async fn gzip_answer(&self, answer: &[u8]) -> Option<Vec<u8>> {
        let [.., behind] = &self.parts;
        let before = answer.strip_suffix(b"}")?.strip_suffix(&**behind)?;
        if behind.is_empty() {
            return None;
        }
        Some(self.compressed().await?.between(before, b"}"))
    }

    async fn compressed(&self) -> Option<&GzipText> {
        let [.., behind] = &self.parts;
        let pack = || async {
            let text = behind.clone();
            away(text.len(), move || GzipText::of(&text)).await.ok_or(())
        };
        self.compressed.get_or_try_init(pack).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header};

    use super::*;
    use crate::document as committed;

    fn asked(host: &'static str, scheme: Option<&'static str>) -> Option<ServerAddress> {
        let mut headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
        headers.extend(scheme.map(|scheme| (http::HeaderName::from_static("x-forwarded-proto"), HeaderValue::from_static(scheme))));
        ServerAddress::of(&headers)
    }

    #[test]
    fn the_document_names_where_it_was_asked_for_and_else_the_default() {
        let document = OpenRpcDocument::new(committed());
        assert_eq!(document.text(None).get(), committed().trim_end());
        let urls = |address: Option<ServerAddress>| {
            let read: serde_json::Value = serde_json::from_str(document.text(address.as_ref()).get()).unwrap();
            [0, 1].map(|at| read["servers"][at]["url"].as_str().unwrap().to_owned())
        };
        assert_eq!(urls(asked("hero.example:81", None)), ["http://hero.example:81/", "ws://hero.example:81/"]);
        assert_eq!(urls(asked("[::1]:81", Some("http"))), ["http://[::1]:81/", "ws://[::1]:81/"]);
        assert_eq!(urls(asked("hero.example", Some("HTTPS"))), ["https://hero.example/", "wss://hero.example/"]);
        assert_eq!(urls(asked("a:b@hero.example", None)), ["http://hero.example/", "ws://hero.example/"]);
        for bad in ["", "a b", "\"", "a/b"] {
            assert_eq!(urls(asked(bad, None)), [HTTP, WEBSOCKET], "{bad}");
        }
    }
}
