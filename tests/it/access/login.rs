//! Login by a signature, as browsers and wallets do it.

use std::time::{Duration, SystemTime};

use hero::access::TokenKey;
use hero::model::{PrivateKey, hex};
use hmac::{Hmac, Mac as _};

use super::*;
use crate::support::{Client as Raw, until};

/// A server whose key of tokens is known, and an identity that can sign.
struct Wallet {
    guarded: Guarded,
    tokens: TokenKey,
    key: PrivateKey,
    identity: IdentityId,
}

impl Wallet {
    async fn open() -> Self {
        let (house, tokens, key) = (House::empty().await, TokenKey::random(), PrivateKey::random());
        let (server, authority) = Server::guarded_with(&house.dispatcher, tokens.clone()).await;
        let guarded = Guarded { house, server, authority };
        let change = IdentityChange { pubkey: Some(key.public_key()), address: None };
        let identity = guarded.authority.create_identity(&change).await.unwrap().identity_id;
        guarded.authority.set_role(CONTEXT, identity, Role::Caller, true).await.unwrap();
        Self { guarded, tokens, key, identity }
    }

    async fn client(&self) -> Client {
        self.guarded.nobody().await
    }

    /// The parameters of a login with this nonce.
    fn signed(&self, nonce: &str) -> Value {
        json!({ "pubkey": self.key.public_key(), "signature": self.key.sign(nonce), "nonce": nonce })
    }

    async fn nonce(&self, client: &Client) -> String {
        client.call_named("fetch_nonce", json!([self.key.public_key()])).await.unwrap()
    }

    /// A call over HTTP, under a name of the server.
    async fn post(&self, host: &str, method: &str, params: Value) -> Value {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, answer) = self.guarded.server.post_at(host, &call.to_string()).await;
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).unwrap()
    }
}

/// Why a login was refused.
async fn refusal(client: &Client, params: Value) -> (i32, String) {
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
async fn a_nonce_is_good_once_for_one_key_under_one_name_for_its_time() {
    let wallet = Wallet::open().await;
    let client = wallet.client().await;
    let nonce = wallet.nonce(&client).await;
    let used = wallet.signed(&nonce);
    client.call_named::<Value>("authenticate", used.clone()).await.unwrap();
    let again = refusal(&wallet.client().await, used.clone()).await;
    assert!(again.0 == 1005 && again.1.contains("used already"), "{again:?}");
    // Under another name of the same server.
    let nonce = wallet.nonce(&client).await;
    let elsewhere = wallet.post("localhost", "authenticate", wallet.signed(&nonce)).await;
    assert!(elsewhere["error"]["code"] == 1005 && elsewhere["error"]["message"].as_str().unwrap().contains("under the same name"));
    // For another key, though that signs.
    let other = PrivateKey::random();
    let params = json!({ "pubkey": other.public_key(), "signature": other.sign(&nonce), "nonce": nonce });
    assert_eq!(refusal(&client, params).await.0, 1005);
    // By a server with another key, over the same Redis.
    let (stranger, _) = Server::guarded(&wallet.guarded.house.dispatcher).await;
    let strange = Client::connect(&stranger.url(), None).await.unwrap();
    let strange = wallet.nonce(&strange).await.replace(&stranger.address.to_string(), &wallet.guarded.server.address.to_string());
    assert!(refusal(&client, wallet.signed(&strange)).await.1.contains("none that this server gave"));
    // After its time: one that this server could have given, five minutes ago and a little.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let made = |expiry: u64| {
        let (host, id) = (wallet.guarded.server.address, "0123456789abcdef0123456789abcdef");
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&key_bytes(&wallet.tokens)).unwrap();
        mac.update(format!("hero nonce {host} {} {id} {expiry}", wallet.key.public_key()).as_bytes());
        format!("hero:{host}:{id}{}:{expiry}", &hex(&mac.finalize().into_bytes())[..32])
    };
    let over = refusal(&client, wallet.signed(&made(now - 1))).await;
    assert!(over.0 == 1005 && over.1.contains("has expired"), "{over:?}");
    client.call_named::<Value>("authenticate", wallet.signed(&made(now + 200))).await.unwrap();
}

/// The bytes of a key.
fn key_bytes(key: &TokenKey) -> Vec<u8> {
    let text = key.to_text();
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

#[tokio::test]
async fn servers_that_share_a_redis_and_a_key_take_each_others_nonces_once() {
    let wallet = Wallet::open().await;
    let (other, _) = Server::guarded_with(&wallet.guarded.house.dispatcher, wallet.tokens.clone()).await;
    // Both are behind one name.
    let nonce = wallet.post("localhost", "fetch_nonce", json!([wallet.key.public_key()])).await["result"].as_str().unwrap().to_owned();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "authenticate", "params": wallet.signed(&nonce) }).to_string();
    let (_, answer) = other.post(&call).await;
    assert!(answer.contains("hero_"), "{answer}");
    let again = wallet.post("localhost", "authenticate", wallet.signed(&nonce)).await;
    assert!(again["error"]["message"].as_str().unwrap().contains("used already"), "{again}");
}

#[tokio::test]
async fn of_many_who_show_one_signature_at_once_one_gets_in() {
    let wallet = Wallet::open().await;
    let client = wallet.client().await;
    let params = wallet.signed(&wallet.nonce(&client).await);
    let logins = futures_util::future::join_all((0..16).map(|_| client.call_named::<Value>("authenticate", params.clone()))).await;
    assert_eq!(logins.iter().filter(|login| login.is_ok()).count(), 1);
    assert_eq!(wallet.guarded.authority.tokens(wallet.identity).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_stranger_learns_nothing_and_what_is_no_signature_is_told_so() {
    let wallet = Wallet::open().await;
    let client = wallet.client().await;
    let stranger = PrivateKey::random();
    let nonce: String = client.call_named("fetch_nonce", json!([stranger.public_key()])).await.unwrap();
    let own = wallet.nonce(&client).await;
    assert_eq!(nonce.len(), own.len());
    // One without an identity, and one who signs for another, hear the same.
    let without = refusal(&client, json!({ "pubkey": stranger.public_key(), "signature": stranger.sign(&nonce), "nonce": nonce })).await;
    let forged = refusal(&client, json!({ "pubkey": wallet.key.public_key(), "signature": stranger.sign(&own), "nonce": own })).await;
    assert_eq!(without, forged);
    assert_eq!(without.0, 1005);
    let whole = wallet.key.sign(&own).to_string();
    let high = "f".repeat(63) + "0";
    for (signature, told) in [
        (whole[..128].to_owned(), "130 hexadecimal digits"),
        (whole[1..].to_owned(), "130 hexadecimal digits"),
        (whole.replace(&whole[..1], "g"), "130 hexadecimal digits"),
        (format!("{}25", &whole[..128]), "0, 1, 27 or 28"),
        (format!("{}{high}1b", &whole[..64]), "r and s"),
        // The order of the curve less one.
        (format!("{}fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd03641401b", &whole[..64]), "upper half"),
    ] {
        let (code, message) = refusal(&client, json!({ "pubkey": wallet.key.public_key(), "signature": signature, "nonce": own })).await;
        assert!(code == -32602 && message.contains(told), "{signature}: {code} {message}");
    }
    for bad in ["", "04", "x", &wallet.key.public_key().to_string()[2..]] {
        assert_eq!(code(&client, "fetch_nonce", json!([bad])).await, -32602, "{bad}");
    }
    assert_eq!(
        refusal(&client, json!({ "pubkey": wallet.key.public_key(), "signature": whole, "nonce": "x".repeat(600) })).await.0,
        -32602
    );
    // None of these used the nonce up.
    client.call_named::<Value>("authenticate", wallet.signed(&own)).await.unwrap();
}

#[tokio::test]
async fn nonces_take_no_room_and_logins_not_more_than_they_may() {
    let wallet = Wallet::open().await;
    let client = wallet.client().await;
    let count = async || wallet.guarded.house.redis.run::<i64>(&["DBSIZE"]).await;
    let before = count().await;
    for _ in 0..500 {
        wallet.nonce(&client).await;
    }
    assert_eq!(count().await, before);
    let first = wallet.client().await;
    first.log_in(&wallet.key).await.unwrap();
    for _ in 0..50 {
        wallet.client().await.log_in(&wallet.key).await.unwrap();
    }
    // The one that would have ended first has given way, and so has its connection.
    assert_eq!(wallet.guarded.authority.tokens(wallet.identity).await.unwrap().len(), 50);
    wallet.guarded.authority.follow().await.unwrap();
    until("the first is logged out", || async { (!first.is_connected()).then_some(()) }).await;
    // Tokens that were made are counted for themselves.
    wallet.guarded.secret(wallet.identity).await;
    let used: Vec<String> = wallet.guarded.house.redis.run(&["KEYS", "hero:access:nonce:*"]).await;
    assert_eq!(used.len(), 51);
    let left: i64 = wallet.guarded.house.redis.run(&["PTTL", &used[0]]).await;
    assert!((1..=360_000).contains(&left), "{left}");
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
async fn no_nonce_is_given_under_a_name_or_a_port_that_is_not_the_servers_own() {
    let wallet = Wallet::open().await;
    let port = wallet.guarded.server.address.port();
    let params = json!([wallet.key.public_key()]);
    for (host, is_own) in [
        (format!("localhost:{port}"), true),
        (format!("127.0.0.1:{port}"), true),
        ("localhost".to_owned(), true),
        (format!("localhost:{}", port ^ 1), false),
        (format!("127.0.0.1:{}", port ^ 1), false),
        ("127.0.0.1".to_owned(), false),
    ] {
        let answer = wallet.post(&host, "fetch_nonce", params.clone()).await;
        assert_eq!(answer["result"].is_string(), is_own, "{host}: {answer}");
        assert!(is_own || answer["error"]["code"] == 1004, "{host}: {answer}");
    }
}

#[tokio::test]
async fn whoever_tries_signatures_is_slowed_down() {
    let wallet = Wallet::open().await;
    let client = wallet.client().await;
    let stranger = PrivateKey::random();
    let nonce: String = client.call_named("fetch_nonce", json!([stranger.public_key()])).await.unwrap();
    let params = json!({ "pubkey": stranger.public_key(), "signature": stranger.sign(&nonce), "nonce": nonce });
    let tries = futures_util::future::join_all((0..60).map(|_| refusal(&client, params.clone()))).await;
    assert!(tries.iter().all(|(code, _)| [1005, 1006].contains(code)));
    // A busy machine may be too slow for the rate to refuse all of them, but not this many.
    assert!(tries.iter().filter(|(code, _)| *code == 1006).all(|(_, message)| message.contains("wrong tokens or logins a second")));
    // A caller with a valid login does not wait.
    client.log_in(&wallet.key).await.unwrap();
}

#[tokio::test]
async fn the_client_signs_nothing_that_names_another_server() {
    let wallet = Wallet::open().await;
    let relay = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, real) = (relay.local_addr().unwrap(), wallet.guarded.server.url());
    // A proxy server, which asks the real one for its answers.
    tokio::spawn(async move {
        let real = Raw::connect(&real).await;
        let mut socket = tokio_tungstenite::accept_async(relay.accept().await.unwrap().0).await.unwrap();
        use futures_util::{SinkExt as _, StreamExt as _};
        while let Some(Ok(message)) = socket.next().await {
            let Ok(call) = serde_json::from_slice::<Value>(&message.into_data()) else { continue };
            let result = real.ok(call["method"].as_str().unwrap(), call["params"].clone()).await;
            let answer = json!({ "jsonrpc": "2.0", "id": call["id"], "result": result });
            socket.send(answer.to_string().into()).await.unwrap();
        }
    });
    let client = Client::connect(&format!("ws://{address}"), None).await.unwrap();
    let refused = client.log_in(&wallet.key).await.unwrap_err();
    assert!(matches!(&refused, Error::OtherServer { .. }) && refused.to_string().contains("nothing was signed"), "{refused}");
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
        let nonce: String = client.call_named("fetch_nonce", json!([key.public_key()])).await.unwrap();
        let signed = json!({ "pubkey": key.public_key(), "signature": key.sign(&nonce), "nonce": nonce });
        match client.call_named::<Value>("authenticate", signed).await {
            Ok(login) => Ok((login["identity_id"].as_u64().unwrap(), client)),
            Err(Error::Rpc(error)) => Err(error.code),
            Err(error) => panic!("{error}"),
        }
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
    assert_eq!(log_in(&ada).await.map(|(identity, _)| identity), Ok(12));
    let eve = PrivateKey::random();
    write("14", eve.public_key().to_string()).await;
    until("14 logs in by its new key", async || log_in(&eve).await.ok().filter(|(identity, _)| *identity == 14)).await;
    assert_eq!(log_in(&bob).await.map(|(identity, _)| identity), Err(1005));
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
