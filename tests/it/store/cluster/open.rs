use hero::model::{ContextId, Status};
use hero::store::Endpoint;

use super::{CONTEXTS, connect, key, spec};
use crate::support::{Authority, Cluster, PATIENCE, Process, dispatcher};

#[tokio::test(flavor = "multi_thread")]
async fn the_name_and_password_of_the_address_open_every_node() {
    let cluster = Cluster::start(&[]).await;
    for node in cluster.living() {
        node.ok(&["ACL", "SETUSER", "hero", "on", ">secret", "~*", "&*", "+@all", "-@admin", "-@dangerous", "+info"]).await;
        node.ok(&["ACL", "SETUSER", "default", "off"]).await;
    }
    let seed = cluster.node(0);
    let endpoint = Endpoint { user: Some("hero".into()), password: Some("secret".into()), ..seed.endpoint() };
    for context in CONTEXTS {
        let (store, _) = connect(&endpoint, context).await.unwrap();
        let dispatcher = dispatcher([store], cluster.directory());
        let id = dispatcher.jobs().create(spec(context, "1")).await.unwrap();
        assert_eq!(dispatcher.jobs().status(context, &id).await.unwrap(), Status::Created);
    }
    assert!(connect(&seed.endpoint(), ContextId(0)).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_certificates_of_the_address_open_every_node() {
    let (authority, home) = (Authority::new(), tempfile::tempdir().unwrap());
    let arguments = [authority.arguments("{tls}", "yes"), vec!["--tls-cluster".into(), "yes".into()]].concat();
    let cluster = Cluster::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let url = format!("rediss://127.0.0.1:{}", cluster.node(0).tls_port());
    let [ca, cert, key] = ["ca.pem", "client.pem", "client.key"].map(|name| authority.file(name).to_str().unwrap().to_owned());
    let redis = ["--redis", &url, "--redis-tls-ca", &ca, "--redis-tls-cert", &cert, "--redis-tls-key", &key];
    let server = Process::serve(home.path(), &[&redis[..], &["--contexts", "0-4", "--pool", "osis=1"]].concat()).await;
    let client = server.client().await;
    for context in CONTEXTS {
        assert_eq!(client.run_and_wait(&spec(context, "CONTEXT_ID"), PATIENCE).await.unwrap().output, context.to_string());
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outsiders_key_by_the_name_that_nobody_has_stops_no_context() {
    let cluster = Cluster::start(&[]).await;
    let (store, _) = connect(&cluster.node(0).endpoint(), ContextId(0)).await.unwrap();
    let owner = cluster.node(cluster.owner(&key(ContextId(0), "x")).await);
    owner.ok(&["SET", &key(ContextId(0), "events:none"), "x"]).await;
    let dispatcher = dispatcher([store], cluster.directory());
    let id = dispatcher.jobs().create(spec(ContextId(0), "1")).await.unwrap();
    assert_eq!(dispatcher.jobs().status(ContextId(0), &id).await.unwrap(), Status::Created);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_cluster_is_said() {
    let cluster = Cluster::start(&["--cluster-require-full-coverage", "yes"]).await;
    let (_, warnings) = connect(&cluster.node(0).endpoint(), ContextId(0)).await.unwrap();
    assert!(warnings.iter().any(|warning| warning.contains("cluster-require-full-coverage no")), "{warnings:?}");
    let numbered = Endpoint { url: format!("{}/1", cluster.node(0).url()), ..Endpoint::default() };
    let error = connect(&numbered, ContextId(0)).await.err().unwrap().to_string();
    assert!(error.contains("a Redis Cluster has one database"), "{error}");
    let owner = cluster.node(cluster.owner(&key(ContextId(0), "x")).await);
    let slot: u16 = owner.run(&["CLUSTER", "KEYSLOT", &key(ContextId(0), "x")]).await;
    for node in cluster.living() {
        node.ok(&["CLUSTER", "DELSLOTS", &slot.to_string()]).await;
    }
    let error = connect(&cluster.node(1).endpoint(), ContextId(0)).await.err().unwrap().to_string();
    assert!(error.contains(&format!("who owns slot {slot}")) && error.contains("redis-cli --cluster check"), "{error}");
}
