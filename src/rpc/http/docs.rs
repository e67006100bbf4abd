use std::sync::LazyLock;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

use crate::docs::{File, INDEX, OPENRPC, files, missing};

/// Where the documents are.
const ROOT: &str = "/docs/";
/// A page loads nothing but the stylesheet and the scripts beside it, and is shown in no frame.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Serves the documents. They are public: nobody has to log in for them.
pub(super) fn documents<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    router
        .route("/docs", get(async || moved(ROOT)))
        .route(ROOT, get(async |headers: HeaderMap| serve(INDEX, &headers)))
        .route("/docs/{*path}", get(async |Path(path): Path<String>, headers: HeaderMap| serve(&path, &headers)))
}

fn serve(path: &str, headers: &HeaderMap) -> Response {
    if let Some(file) = files().get(path) {
        return sent(path, file, headers);
    }
    if path == OPENRPC {
        return moved("/openrpc.json");
    }
    // A page may be asked for by the name of its document, or without its ending.
    let page = format!("{}.html", path.strip_suffix(".md").unwrap_or(path));
    if files().contains_key(&page) {
        return moved(&format!("{ROOT}{page}"));
    }
    let head = [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
    guarded((StatusCode::NOT_FOUND, head, missing(path, ROOT)).into_response())
}

fn sent(path: &str, file: &'static File, headers: &HeaderMap) -> Response {
    let tag = tag(path);
    let is_known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|given| given.to_str().ok());
    let is_known = is_known
        .flat_map(|given| given.split(','))
        .any(|given| matches!(given.trim(), "*") || given.trim().trim_start_matches("W/") == tag);
    // It is asked for each time whether it has changed, because the next version of the server may have others.
    let head = [(header::CONTENT_TYPE, file.media_type), (header::CACHE_CONTROL, "no-cache"), (header::ETAG, tag)];
    guarded(if is_known {
        (StatusCode::NOT_MODIFIED, head).into_response()
    } else {
        (head, Body::from(file.text.as_bytes())).into_response()
    })
}

/// What a file is known by.
fn tag(path: &str) -> &'static str {
    static TAGS: LazyLock<std::collections::BTreeMap<&str, String>> = LazyLock::new(|| {
        let of = |text: &str| Sha256::digest(text)[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        files().iter().map(|(path, file)| (path.as_str(), format!("\"{}\"", of(&file.text)))).collect()
    });
    TAGS.get(path).map_or("", String::as_str)
}

fn guarded(mut response: Response) -> Response {
    for (name, value) in
        [(header::CONTENT_SECURITY_POLICY, POLICY), (header::X_CONTENT_TYPE_OPTIONS, "nosniff"), (header::REFERRER_POLICY, "no-referrer")]
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
