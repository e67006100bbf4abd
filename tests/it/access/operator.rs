use super::*;
use crate::support::Process;

/// The whole program: login on, the first identity by the operator's socket, a job by its token.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_identity_and_its_token_are_made_over_the_socket_of_the_operator() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data").display().to_string();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", &data, "--pool", "osis=1", "--login"];
    let server = Process::start_with(&arguments, |_| {}).until_ready().await;
    let socket = format!("unix://{data}/hero.sock");
    let operator = Client::connect(&socket, None).await.unwrap();
    assert!(operator.whoami().await.unwrap().operator);
    let identity = operator.create_identity(None, &[]).await.unwrap().identity_id;
    let made = operator.create_token(identity, Some("first"), None).await.unwrap();
    operator.set_role(identity, Role::Caller, CONTEXT, true).await.unwrap();
    let client = Client::connect(&server.url(), Some(&made.secret)).await.unwrap();
    let result: Value = client.call("run_and_wait", json!(["40 + 2"])).await.unwrap();
    assert_eq!(result["value"], 42);
    assert_eq!(code(&Client::connect(&server.url(), None).await.unwrap(), "run_and_wait", json!(["1"])).await, 1005);
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(format!("{data}/{name}")).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("hero.sock"), mode("token.key")), (0o600, 0o600));
    server.stop().await;
    // The next start has the same key, and takes the place of the socket.
    let server = Process::start_with(&arguments, |_| {}).until_ready().await;
    let client = Client::connect(&server.url(), Some(&made.secret)).await.unwrap();
    assert_eq!(client.whoami().await.unwrap().identity_id, Some(identity));
    assert!(Client::connect(&socket, None).await.unwrap().whoami().await.unwrap().operator);
    server.stop().await;
}
