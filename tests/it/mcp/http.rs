//! `/mcp`: the rights of an assistant there, and the ends of its calls.

use std::sync::Arc;

use hero::access::{Authority, IdentityChange};
use hero::model::{Role, Status, TokenId};
use rmcp::model::ProtocolVersion;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::json;

use super::*;
use crate::support::{CONTEXT, House, Process, Server};

fn transport(url: &str, token: Option<&str>) -> StreamableHttpClientTransport<reqwest::Client> {
    let config = StreamableHttpClientTransportConfig::with_uri(url);
    let config = match token {
        Some(token) => config.auth_header(token),
        None => config,
    };
    StreamableHttpClientTransport::with_client(reqwest_client(), config)
}

/// An HTTP client without trusted certificates, because it needs no TLS.
fn reqwest_client() -> reqwest::Client {
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth();
    reqwest::Client::builder().no_proxy().tls_backend_preconfigured(config).build().unwrap()
}

fn url(server: &Server) -> String {
    format!("http://{}/mcp", server.address)
}

/// The secret of a token of a new identity with these roles, and how to revoke it.
pub(super) async fn token(authority: &Authority, roles: &[Role]) -> (String, TokenId) {
    let id = authority.create_identity(&IdentityChange::default()).await.unwrap().identity_id;
    for role in roles {
        authority.set_role(CONTEXT, id, *role, true).await.unwrap();
    }
    let made = authority.create_token(id, None, None, None).await.unwrap();
    (made.secret.reveal().to_owned(), made.token.token_id)
}

#[tokio::test]
async fn an_assistant_uses_a_server_over_http() {
    let house = House::open(2).await;
    let server = Server::of(&house).await;
    let mut assistant = Assistant::over(transport(&url(&server), None)).await.unwrap();
    is_served(&mut assistant).await;
    // Another call of the same client finds the one that is cancelled.
    let (job, call) = waiting(&mut assistant, ENDLESS).await;
    in_time(call.cancel(None)).await;
    assert_eq!(becomes(&assistant, &job, "error").await["error"]["kind"], "stopped");
    assistant.close().await;
    house.close().await;
}

#[tokio::test]
async fn a_client_of_the_newest_version_cancels_by_ending_its_request() {
    let house = House::open(2).await;
    let server = Server::of(&house).await;
    let how = || ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let mut assistant = Assistant::beginning(how(), transport(&url(&server), None)).await.unwrap();
    is_served(&mut assistant).await;
    let (job, call) = waiting(&mut assistant, ENDLESS).await;
    in_time(call.cancel(None)).await;
    let other = Assistant::beginning(how(), transport(&url(&server), None)).await.unwrap();
    assert_eq!(becomes(&other, &job, "error").await["error"]["kind"], "stopped");
    house.close().await;
}

#[tokio::test]
async fn a_connection_that_breaks_leaves_the_job_of_an_older_client_alone() {
    let house = House::open(2).await;
    let server = Server::of(&house).await;
    let mut assistant = Assistant::over(transport(&url(&server), None)).await.unwrap();
    // It runs for longer than the server needs to see that the connection is gone.
    let script = "job::progress(50, \"half\"); for i in 0..80 { sleep(0.1); } 42";
    let (job, call) = waiting(&mut assistant, script).await;
    drop(call);
    assistant.close().await;
    let assistant = Assistant::over(transport(&url(&server), None)).await.unwrap();
    assert_eq!(assistant.data("wait_job", json!({"job_id": job})).await["value"], 42);
    house.close().await;
}

#[tokio::test]
async fn an_assistant_has_the_rights_of_its_token_for_as_long_as_that_is_one() {
    let house = House::open(2).await;
    let (server, authority) = Server::guarded(&house.dispatcher).await;
    for (shown, said) in [(None, "AuthRequired"), (Some("no token"), "AuthRequired")] {
        let Err(error) = Assistant::over(transport(&url(&server), shown)).await else { panic!("{shown:?} was let in") };
        assert!(error.contains(said) || error.contains("401"), "{error}");
    }
    let (reader, _) = token(&authority, &[Role::Reader]).await;
    let assistant = Assistant::over(transport(&url(&server), Some(&reader))).await.unwrap();
    let denied = assistant.call("run_and_wait", json!({"script": "1"})).await;
    assert_eq!((denied.is_error, &denied.structured_content.as_ref().unwrap()["code"]), (Some(true), &json!(1004)), "{denied:?}");
    let (caller, id) = token(&authority, &[Role::Caller]).await;
    let mut assistant = Assistant::over(transport(&url(&server), Some(&caller))).await.unwrap();
    let who = assistant.data("whoami", json!({})).await;
    assert!(who["identity_id"].is_number(), "{who}");
    let (job, call) = waiting(&mut assistant, ENDLESS).await;
    authority.revoke_token(&id).await.unwrap();
    let ended = timeout(PATIENCE, call.await_response()).await.expect("an end");
    let advice = "the token that this client shows has ended; started jobs continue";
    assert!(format!("{ended:?}").contains(advice), "{ended:?}");
    // The job is none that its caller has cancelled.
    assert_eq!(house.dispatcher.jobs().status(CONTEXT, &job.parse().unwrap()).await.unwrap(), Status::Started);
    house.close().await;
}

#[tokio::test]
async fn a_server_that_stops_answers_the_assistants_that_wait() {
    let home = tempfile::tempdir().unwrap();
    let mut server = Process::serve(&home.path().join("data"), &["--pool", "osis=1", "--grace", "0s"]).await;
    let url = format!("{}/mcp", server.url().replace("ws://", "http://"));
    let mut assistant = Assistant::over(transport(&url, None)).await.unwrap();
    let (_, call) = waiting(&mut assistant, ENDLESS).await;
    server.terminate();
    let ended = timeout(PATIENCE, call.await_response()).await.expect("an end");
    assert!(format!("{ended:?}").contains("is_error: Some(true)"), "{ended:?}");
    assert!(server.ended().await.success(), "{}", server.log());
    assert!(!server.log().contains("initialized"), "what the library says of each request is not logged: {}", server.log());
}
