//! Nonces and signatures: what each is good for, and how often.

use std::time::SystemTime;

use hero::access::TokenKey;
use hero::model::{PrivateKey, hex};
use hmac::{Hmac, Mac as _};

use super::login::{Wallet, refusal};
use super::*;
use crate::support::{Client as Raw, until};

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
