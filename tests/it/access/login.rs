//! Login by a signature, as browsers and wallets do it.

use std::time::Duration;

use hero::access::TokenKey;
use hero::model::PrivateKey;

use super::*;
use crate::support::until;

/// A server whose key of tokens is known, and an identity that can sign.
pub(super) struct Wallet {
    pub(super) guarded: Guarded,
    pub(super) tokens: TokenKey,
    pub(super) key: PrivateKey,
    pub(super) identity: IdentityId,
}

impl Wallet {
    pub(super) async fn open() -> Self {
        let (house, tokens, key) = (House::empty().await, TokenKey::random(), PrivateKey::random());
        let (server, authority) = Server::guarded_with(&house.dispatcher, tokens.clone()).await;
        let guarded = Guarded { house, server, authority };
        let change = IdentityChange { pubkey: Some(key.public_key()), address: None };
        let identity = guarded.authority.create_identity(&change).await.unwrap().identity_id;
        guarded.authority.set_role(CONTEXT, identity, Role::Caller, true).await.unwrap();
        Self { guarded, tokens, key, identity }
    }

    pub(super) async fn client(&self) -> Client {
        self.guarded.nobody().await
    }

    /// The parameters of a login with this nonce.
    pub(super) fn signed(&self, nonce: &str) -> Value {
        json!({ "pubkey": self.key.public_key(), "signature": self.key.sign(nonce), "nonce": nonce })
    }

    pub(super) async fn nonce(&self, client: &Client) -> String {
        client.call_named("fetch_nonce", json!([self.key.public_key()])).await.unwrap()
    }

    /// A call over HTTP, under a name of the server.
    pub(super) async fn post(&self, host: &str, method: &str, params: Value) -> Value {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, answer) = self.guarded.server.post_at(host, &call.to_string()).await;
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).unwrap()
    }
}

/// Why a login was refused.
pub(super) async fn refusal(client: &Client, params: Value) -> (i32, String) {
    match client.call_named::<Value>("authenticate", params).await {
        Err(Error::Rpc(error)) => (error.code, error.message),
        answer => panic!("{answer:?}"),
    }
}

#[tokio::test]
async fn whoever_signs_a_nonce_is_that_identity_on_the_connection_and_by_the_token() {
    let wallet = Wallet::open().await;
    let client = wallet.client().await;
    assert_eq!(code(&client, "create_job", json!(["1"])).await, 1005);
    let made = client.log_in(&wallet.key).await.unwrap();
    assert_eq!(made.identity_id, wallet.identity);
    let who = client.whoami().await.unwrap();
    assert_eq!((who.identity_id, &*who.roles[&CONTEXT]), (Some(wallet.identity), &[Role::Caller][..]));
    let id = job(&client).await;
    let stored: Value = client.call_named("get_job", json!([id])).await.unwrap();
    assert_eq!(stored["caller_id"], wallet.identity.to_string());
    // The token is one like others, with an end.
    let token = client.list_tokens(wallet.identity).await.unwrap().remove(0);
    assert_eq!((token.name.as_deref(), token.expires_at), (Some("login"), Some(made.expires_at)));
    assert_eq!(token.expires_at, Some(token.created_at.plus(Duration::from_secs(24 * 60 * 60))));
    let other = Client::connect(&wallet.guarded.server.url(), Some(&made.token)).await.unwrap();
    assert_eq!(other.whoami().await.unwrap().identity_id, Some(wallet.identity));
    // A revocation ends it everywhere, even on the connection that logged in.
    wallet.guarded.authority.revoke_token(&token.token_id).await.unwrap();
    for client in [&client, &other] {
        until("the connection is closed", || async { (!client.is_connected()).then_some(()) }).await;
    }
}

#[tokio::test]
async fn a_login_over_http_gives_a_token_and_leaves_the_connection_to_others() {
    let wallet = Wallet::open().await;
    let nonce = wallet.post("localhost", "fetch_nonce", json!([wallet.key.public_key()])).await["result"].as_str().unwrap().to_owned();
    assert!(nonce.starts_with("hero:localhost:"), "{nonce}");
    // In one connection, as a proxy has it for several callers.
    let calls = [("authenticate", wallet.signed(&nonce)), ("whoami", json!({}))].map(|(method, params)| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        format!("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    });
    let mut tcp = tokio::net::TcpStream::connect(wallet.guarded.server.address).await.unwrap();
    let mut answers = Vec::new();
    for call in calls {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        tcp.write_all(call.as_bytes()).await.unwrap();
        let mut answer = String::new();
        while !answer.ends_with('}') {
            let mut bytes = [0; 4096];
            let read = tcp.read(&mut bytes).await.unwrap();
            assert!(read > 0, "{answer}");
            answer.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        }
        answers.push(answer.split_once("\r\n\r\n").unwrap().1.to_owned());
    }
    let made: Value = serde_json::from_str(&answers[0]).unwrap();
    assert!(answers[1].contains(r#""caller_id":"anonymous""#), "{}", answers[1]);
    let bearer = format!("Bearer {}", made["result"]["token"].as_str().unwrap());
    let (status, answer) = wallet.guarded.server.post_with(&bearer, r#"{"jsonrpc":"2.0","id":1,"method":"whoami"}"#).await;
    assert!(status == 200 && answer.contains(&format!(r#""identity_id":{}"#, wallet.identity)), "{status} {answer}");
}

#[tokio::test]
async fn a_new_public_key_ends_the_logins_of_the_old_one() {
    let wallet = Wallet::open().await;
    let client = wallet.client().await;
    client.log_in(&wallet.key).await.unwrap();
    let made = wallet.guarded.secret(wallet.identity).await;
    let next = PrivateKey::random();
    let change = IdentityChange { pubkey: Some(next.public_key()), address: None };
    // By a token of the login, too.
    let second: Value = client.call_named("create_token", json!([wallet.identity])).await.unwrap();
    let second = Client::connect(&wallet.guarded.server.url(), second["secret"].as_str()).await.unwrap();
    wallet.guarded.authority.update_identity(wallet.identity, &change).await.unwrap();
    // At once, here.
    let shown = wallet.guarded.authority.tokens(wallet.identity).await.unwrap();
    assert_eq!(shown.len(), 1, "only the one that the operator made is left");
    until("it is logged out, too", || async { (!second.is_connected()).then_some(()) }).await;
    until("it is logged out", || async { (!client.is_connected()).then_some(()) }).await;
    let client = Client::connect(&wallet.guarded.server.url(), Some(&made)).await.unwrap();
    assert!(matches!(client.log_in(&wallet.key).await, Err(Error::Rpc(error)) if error.code == 1005));
    client.log_in(&next).await.unwrap();
}

#[tokio::test]
async fn without_login_a_token_is_given_and_the_connection_stays_as_it_was() {
    let house = House::empty().await;
    let server = Server::of(&house).await;
    let key = PrivateKey::random();
    let client = Client::connect(&server.url(), None).await.unwrap();
    client.create_identity(Some(&key.public_key()), &[]).await.unwrap();
    assert!(client.log_in(&key).await.unwrap().token.starts_with("hero_"));
    assert_eq!(client.whoami().await.unwrap().identity_id, None);
}

#[tokio::test]
async fn who_stands_in_a_hash_of_another_program_logs_in_by_its_key_and_takes_nobody_elses() {
    let house = House::empty().await;
    let (server, authority) = Server::guarded(&house.dispatcher).await;
    let guarded = Guarded { house, server, authority };
    let redis = &guarded.house.redis;
    let (ada, bob) = (PrivateKey::random(), PrivateKey::random());
    let write =
        async |number: &str, key: String| -> i64 { redis.run(&["HSET", &format!("actor:{number}"), "id", number, "pubkey", &key]).await };
    // In upper or lower case.
    write("12", format!("0x{}", ada.public_key().as_str().to_uppercase())).await;
    let log_in = async |key: &PrivateKey| {
        let client = guarded.nobody().await;
        let login = async {
            let nonce: String = client.call_named("fetch_nonce", json!([key.public_key()])).await?;
            let signed = json!({ "pubkey": key.public_key(), "signature": key.sign(&nonce), "nonce": nonce });
            client.call_named::<Value>("authenticate", signed).await
        };
        match login.await {
            Ok(login) => Ok((login["identity_id"].as_u64().unwrap(), client)),
            Err(Error::Rpc(error)) => Err(error.code),
            Err(error) => panic!("{error}"),
        }
    };
    // The attempts of `until` may use up what callers without a login may call.
    let answer = async |key: &PrivateKey| {
        let answered = async || Some(log_in(key).await.map(|(identity, _)| identity)).filter(|answer| *answer != Err(1006));
        until("the login is answered", answered).await
    };
    let (identity, client) = until("12 logs in", async || log_in(&ada).await.ok()).await;
    assert_eq!(identity, 12);
    // It has no rights until it gets a grant.
    assert_eq!(code(&client, "create_job", json!({ "script": "1" })).await, 1004);
    guarded.authority.set_role(CONTEXT, IdentityId(12), Role::Caller, true).await.unwrap();
    assert_eq!(code(&client, "create_job", json!({ "script": "1" })).await, 0);
    // A second identity with the same key is listed, but cannot log in; after a key change, an identity has only the
    // new key.
    write("13", ada.public_key().to_string()).await;
    write("14", bob.public_key().to_string()).await;
    until("14 logs in", async || log_in(&bob).await.ok().filter(|(identity, _)| *identity == 14)).await;
    assert_eq!(answer(&ada).await, Ok(12));
    let eve = PrivateKey::random();
    write("14", eve.public_key().to_string()).await;
    until("14 logs in by its new key", async || log_in(&eve).await.ok().filter(|(identity, _)| *identity == 14)).await;
    assert_eq!(answer(&bob).await, Err(1005));
    let known: Option<String> = redis.run(&["HGET", "hero:access:pubkeys", bob.public_key().as_str()]).await;
    assert_eq!(known, None, "what it had before leaves nothing");
    guarded.authority.delete_identity(IdentityId(14)).await.unwrap();
    let left: Vec<String> = redis.run(&["HKEYS", "hero:access:pubkeys"]).await;
    assert!(!left.iter().any(|field| field.contains(eve.public_key().as_str()) || field == "of:14"), "{left:?}");
}

#[tokio::test]
async fn logins_end_when_another_program_takes_the_key_out_of_the_hash() {
    let wallet = Wallet::open().await;
    let guarded = &wallet.guarded;
    let redis = &guarded.house.redis;
    // One of another program, and one that was made here.
    let stranger = PrivateKey::random();
    let _: i64 = redis.run(&["HSET", "actor:12", "id", "12", "pubkey", stranger.public_key().as_str()]).await;
    for (key, identity) in [(&stranger, 12), (&wallet.key, wallet.identity.0)] {
        let log_in = async || -> Result<Value, Error> {
            let client = guarded.nobody().await;
            let nonce: String = client.call_named("fetch_nonce", json!([key.public_key()])).await?;
            client.call_named("authenticate", json!([key.public_key(), key.sign(&nonce), nonce])).await
        };
        let login = until("it logs in", async || log_in().await.ok()).await;
        assert_eq!(login["identity_id"], identity);
        let bearer = format!("Bearer {}", login["token"].as_str().unwrap());
        let status = async || {
            // As servers do repeatedly.
            guarded.authority.follow().await.unwrap();
            guarded.server.post_with(&bearer, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await.0
        };
        assert_eq!(status().await, 200);
        let _: i64 = redis.run(&["HDEL", &format!("actor:{identity}"), "pubkey"]).await;
        until("its login ends", async || (status().await == 401).then_some(())).await;
        assert!(log_in().await.is_err());
        let known: Vec<Option<String>> =
            redis.run(&["HMGET", "hero:access:pubkeys", key.public_key().as_str(), &format!("of:{identity}")]).await;
        assert_eq!(known, [None, None]);
    }
}
