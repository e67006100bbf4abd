//! Behavior that all buses share.

use hero::coordinator::bus::{Api, Boxes, Bus, BusError};
use hero::coordinator::envelope::{Envelope, Kind};
use hero::coordinator::receipt::{Receipt, ReceiptStatus};
use hero::model::JobId;
use hero::store::Endpoint;

use super::*;
use crate::support::{MyceliumNode, Network, PATIENCE};

pub(super) const SHORT: Duration = Duration::from_secs(1);

/// An envelope that is like no other: what a bus says of one is not taken for what it says of another.
pub(super) fn envelope(key: &NodeKey, message: &str) -> Envelope {
    let mut envelope = Envelope {
        kind: Kind::Message,
        nonce: JobId::random().as_str().replace('-', "").parse().unwrap(),
        caller_id: 1,
        message_id: 1,
        message_type: MessageType::Chat,
        message_format_type: MessageFormat::Text,
        context: CONTEXT,
        target_context: CONTEXT,
        topic: String::new(),
        message: message.into(),
        job: "[]".into(),
        timeout: 60,
        timeout_ack: 60,
        timeout_result: 60,
        created_at: 0,
        sent_at: 1,
        in_reply_to: String::new(),
        answers: 0,
        node: key.public(),
        to: None,
        public_key: key.public(),
        signature: String::new(),
    };
    key.sign(&mut envelope);
    envelope
}

/// That an envelope is stored, says a node.
pub(super) fn stored(envelope: &Envelope, key: &NodeKey) -> Receipt {
    Receipt::new(envelope, ReceiptStatus::Stored, String::new(), key)
}

/// Receives the envelopes that have arrived, and confirms that they are stored.
pub(super) async fn receive(bus: &dyn Bus, key: &NodeKey) -> Vec<Envelope> {
    receive_and_say(bus, |envelope| stored(envelope, key)).await
}

/// Receives the envelopes that have arrived, at least one, and gives this answer to each.
async fn receive_and_say(bus: &dyn Bus, say: impl Fn(&Envelope) -> Receipt) -> Vec<Envelope> {
    let received = until("an envelope", || async { Some(bus.receive(SHORT).await.unwrap()).filter(|received| !received.is_empty()) }).await;
    let mut envelopes = Vec::new();
    for received in received {
        let envelope: Envelope = serde_json::from_str(received.envelope.as_deref().unwrap()).unwrap();
        bus.answer(&received, &say(&envelope)).await.unwrap();
        envelopes.push(envelope);
    }
    envelopes
}

/// Sends an envelope again and again until its sender learns that it was stored.
async fn insist(sender: &dyn Bus, receiver: &dyn Bus, to: &str, envelope: &Envelope, key: &NodeKey) {
    let node = key.public();
    let receipt = until("a receipt", || async { sender.deliver(to, envelope, Some(&node), SHORT).await.ok() });
    let receiving = async {
        loop {
            receive(receiver, key).await;
        }
    };
    tokio::select! {
        receipt = receipt => assert!(receipt.is_stored() && receipt.node == node && receipt.nonce == envelope.nonce),
        () = receiving => {}
    }
}

/// What somebody else says to be the receipt for an envelope, which the node `right` has not stored.
type Forgery = fn(&Envelope, right: &NodeKey) -> Receipt;

const FORGERIES: [Forgery; 6] = [
    // By nobody.
    |envelope, right| Receipt { signature: String::new(), ..stored(envelope, right) },
    // By somebody else in the name of the right one, and in their own.
    |envelope, right| Receipt { node: right.public(), ..stored(envelope, &NodeKey::random()) },
    |envelope, _| stored(envelope, &NodeKey::random()),
    // Of another message, by the right one.
    |envelope, right| stored(&Envelope { nonce: "another".parse().unwrap(), ..envelope.clone() }, right),
    |envelope, right| stored(&Envelope { message: "what another node sent by this nonce".into(), ..envelope.clone() }, right),
    // What was said of this one, changed.
    |envelope, right| Receipt { outcome: ReceiptStatus::Stored, ..Receipt::new(envelope, ReceiptStatus::Full, String::new(), right) },
];

/// What is forged does not have a sender believe that its envelope was stored, or refused; the right receipt does, later.
async fn believes_no_forgery(sender: &dyn Bus, receiver: &dyn Bus, to: &str) {
    let (key, right) = (NodeKey::random(), NodeKey::random());
    let node = right.public();
    let sent = FORGERIES.map(|forgery| (envelope(&key, "forged"), forgery));
    let sending = sent.iter().map(|(envelope, _)| sender.deliver(to, envelope, Some(&node), SHORT));
    let forging = async {
        let (forge, mut left) =
            (|envelope: &Envelope| sent.iter().find(|(sent, _)| sent == envelope).unwrap().1(envelope, &right), sent.len());
        while left > 0 {
            left -= receive_and_say(receiver, forge).await.len();
        }
    };
    let (receipts, ()) = tokio::join!(futures_util::future::join_all(sending), forging);
    for (receipt, (envelope, _)) in receipts.into_iter().zip(&sent) {
        assert_eq!(receipt.unwrap_err(), BusError::Silent);
        insist(sender, receiver, to, envelope, &right).await;
    }
}

/// What a bus has to do between a sender and a receiver, who is `to` there and comes back after `restart`.
async fn conforms(sender: &dyn Bus, receiver: &dyn Bus, to: &str) {
    let key = NodeKey::random();
    // It arrives as it was sent, and the sender learns that it was stored.
    let sent = envelope(&key, "Grüße");
    let (receipt, received) = tokio::join!(sender.deliver(to, &sent, None, PATIENCE), receive(receiver, &key));
    let receipt = receipt.unwrap();
    assert!(receipt.is_stored() && receipt.nonce == sent.nonce && receipt.node == key.public());
    assert_eq!(received, [sent]);
    believes_no_forgery(sender, receiver, to).await;
    // Nobody fetches it: the sender is told that nobody said anything, and sends it again.
    let silent = envelope(&key, "x");
    let unfetched = sender.deliver(to, &silent, None, SHORT).await.unwrap_err();
    assert!(!unfetched.is_final(), "{unfetched}");
    insist(sender, receiver, to, &silent, &key).await;
    // What is too large is known before it is sent.
    let large = envelope(&key, &"x".repeat(5 << 20));
    assert!(matches!(sender.deliver(to, &large, None, PATIENCE).await, Err(BusError::TooLarge { size, .. }) if size > 5 << 20));
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_is_a_bus() {
    let redis = Redis::start().await;
    let key = NodeKey::random();
    let sender = Boxes::connect(&redis.endpoint(), CONTEXT, key.public().to_string()).await.unwrap();
    let receiver = Boxes::new(redis.store().await.mailboxes(), Boxes::IN.to_owned());
    conforms(&sender, &receiver, Boxes::IN).await;
    // The other way, into the box of the one that fetches.
    conforms(&receiver, &sender, key.public().as_str()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_of_another_redis_needs_no_more_than_the_document_says() {
    let redis = Redis::start().await;
    let document = include_str!("../../../docs/messages.md");
    let rules = document.split('`').find(|part| part.starts_with("+@connection ")).unwrap();
    let words: Vec<&str> = ["ACL", "SETUSER", "node", "on", ">secret"].into_iter().chain(rules.split(' ')).collect();
    let _: String = redis.run(&words).await;
    let key = NodeKey::random();
    let endpoint = Endpoint { user: Some("node".into()), password: Some("secret".into()), ..redis.endpoint() };
    let sender = Boxes::connect(&endpoint, CONTEXT, key.public().to_string()).await.unwrap();
    let receiver = Boxes::new(redis.store().await.mailboxes(), Boxes::IN.to_owned());
    conforms(&sender, &receiver, Boxes::IN).await;
    conforms(&receiver, &sender, key.public().as_str()).await;
}

async fn mycelium_conforms(api: Api) {
    let network = Network::default();
    let (one, two) = (network.node().await, network.node().await);
    let bus = |node: &MyceliumNode| Mycelium::new(&node.url(), api, "hero").unwrap();
    let (sender, receiver) = (bus(&one), bus(&two));
    conforms(&sender, &receiver, &two.key).await;
    // Its node is down, and comes back.
    let key = NodeKey::random();
    one.halt(true);
    let down = sender.deliver(&two.key, &envelope(&key, "x"), None, SHORT).await.unwrap_err();
    assert!(matches!(&down, BusError::Unreachable(why) if why.contains("the Mycelium node")), "{down}");
    one.halt(false);
    let sent = envelope(&key, "x");
    insist(&sender, &receiver, &two.key, &sent, &key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mycelium_is_a_bus_by_rest() {
    mycelium_conforms(Api::Rest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mycelium_is_a_bus_by_json_rpc() {
    mycelium_conforms(Api::JsonRpc).await;
}

/// `MYCELIUM_URL` has the HTTP API of one real node, or of two with a space between them: no node carries anything to itself.
#[tokio::test(flavor = "multi_thread")]
async fn real_nodes_of_mycelium_are_a_bus_where_they_are_named() {
    let Ok(urls) = std::env::var("MYCELIUM_URL") else { return };
    let (mut buses, mut keys) = (Vec::new(), Vec::new());
    for url in urls.split_whitespace() {
        let info: serde_json::Value = serde_json::from_str(&text_at(&format!("{url}/api/v1/admin")).await).unwrap();
        keys.push(info["nodePubkey"].as_str().unwrap().to_owned());
        buses.push(Mycelium::new(url, Api::Rest, "hero-test").unwrap());
    }
    let to_itself = buses[0].deliver(&keys[0], &envelope(&NodeKey::random(), "x"), None, SHORT).await.unwrap_err();
    assert!(to_itself.is_final() && to_itself.to_string().contains("does not deliver to itself"), "{to_itself}");
    let unknown = buses[0].deliver(&"12".repeat(32), &envelope(&NodeKey::random(), "x"), None, SHORT).await.unwrap_err();
    assert!(!unknown.is_final() && unknown.to_string().contains("has not found"), "{unknown}");
    if let ([one, two], [_, to]) = (&buses[..], &keys[..]) {
        conforms(one, two, to).await;
    }
}

async fn text_at(url: &str) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let (host, path) = address.split_once('/').unwrap();
    let (_, body) = crate::support::get(host, &format!("/{path}")).await;
    body
}
