use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;

use super::fixed::fixed;
use crate::gzip_text::GzipText;
use hero_docs::{File, INDEX, OPENRPC, SVG, files, missing};
use hero_model::hex;
use hero_service::away;

/// The path of the documents.
const ROOT: &str = "/docs/";
/// A page loads only the stylesheet and the scripts beside it, and may not be framed.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// A picture has its style in itself and loads nothing.
const PICTURE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

/// Serves the documents. They are public and need no login.
pub(super) fn documents<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    router
        .route("/docs", get(async || moved(ROOT)))
        .route(ROOT, get(async |headers: HeaderMap| serve(INDEX, &headers).await))
        .route("/docs/{*path}", get(async |Path(path): Path<String>, headers: HeaderMap| serve(&path, &headers).await))
}

async fn serve(path: &str, headers: &HeaderMap) -> Response {
    if let Some(file) = files().get(path) {
        return sent(path, file, headers).await;
    }
    if path == OPENRPC {
        return moved("/openrpc.json");
    }
    // The path may have the name of the document, or lack its ending.
    let page = format!("{}.html", path.strip_suffix(".md").unwrap_or(path));
    if files().contains_key(&page) {
        return moved(&format!("{ROOT}{page}"));
    }
    let head = [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
    guarded(POLICY, (StatusCode::NOT_FOUND, head, missing(path, ROOT)).into_response())
}

async fn sent(path: &str, file: &'static File, headers: &HeaderMap) -> Response {
    let Some(kept) = KEPT.get(path) else { return StatusCode::NOT_FOUND.into_response() };
    let pack = || async {
        let gzip = away(file.text.len(), || GzipText::of(file.text.as_bytes()).between(b"", b"")).await;
        gzip.map(Bytes::from).ok_or(())
    };
    let gzip = async { kept.gzip.get_or_try_init(pack).await.ok().cloned() };
    let plain = (Body::from(file.text.as_bytes()), file.text.len());
    let policy = if file.media_type == SVG { PICTURE_POLICY } else { POLICY };
    guarded(policy, fixed(headers, (file.media_type, &kept.tag), plain, gzip).await)
}

/// The cached data of a file.
struct CachedFile {
    /// Its ETag.
    tag: String,
    /// The compressed file, once it was requested.
    gzip: OnceCell<Bytes>,
}

static KEPT: LazyLock<BTreeMap<&str, CachedFile>> = LazyLock::new(|| {
    let kept = |text: &str| CachedFile { tag: hex(&Sha256::digest(text)[..8]), gzip: OnceCell::new() };
    files().iter().map(|(path, file)| (path.as_str(), kept(&file.text))).collect()
});

fn guarded(policy: &'static str, mut response: Response) -> Response {
    for (name, value) in
        [(header::CONTENT_SECURITY_POLICY, policy), (header::X_CONTENT_TYPE_OPTIONS, "nosniff"), (header::REFERRER_POLICY, "no-referrer")]
    {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn moved(to: &str) -> Response {
    match HeaderValue::from_str(to) {
        Ok(to) => (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, to)]).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}
