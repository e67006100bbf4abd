//! Signatures, and the signers that are trusted.

use hero::access::{IdentityChange, TokenKey};
use hero::coordinator::bus::{Boxes, Bus, BusError};
use hero::coordinator::envelope::{Envelope, Kind};
use hero::coordinator::receipt::{Receipt, ReceiptStatus};
use hero::model::{JobSpec, Role, SignerKey};
use k256::ecdsa::signature::Signer as _;
use k256::ecdsa::{Signature, SigningKey};

use super::*;
use crate::support::{PATIENCE, spec};

const PATIENT: Duration = Duration::from_secs(30);

fn seconds() -> i64 {
    hero::model::Timestamp::local().as_millis() / 1000
}

/// An envelope from a node to another one.
pub(super) fn envelope(key: &NodeKey, to: &NodeKey, nonce: &str) -> Envelope {
    let mut envelope = Envelope {
        kind: Kind::Message,
        nonce: nonce.parse().unwrap(),
        caller_id: 12,
        message_id: 101,
        message_type: MessageType::Chat,
        message_format_type: MessageFormat::Text,
        context: CONTEXT,
        target_context: CONTEXT,
        topic: String::new(),
        message: "hello".into(),
        job: "[]".into(),
        timeout: 600,
        timeout_ack: 600,
        timeout_result: 600,
        created_at: seconds(),
        sent_at: seconds(),
        in_reply_to: String::new(),
        answers: 0,
        node: key.public(),
        to: Some(to.public()),
        public_key: key.public(),
        signature: String::new(),
    };
    key.sign(&mut envelope);
    envelope
}

/// The envelopes that a node puts into the Redis of a town.
pub(super) async fn boxes(town: &Town, own: &NodeKey) -> Boxes {
    Boxes::connect(&town.redis().endpoint(), CONTEXT, own.public().to_string()).await.unwrap()
}

pub(super) async fn deliver(boxes: &Boxes, envelope: &Envelope) -> Receipt {
    boxes.deliver(Boxes::IN, envelope, None, PATIENT).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_signed_rightly_by_a_known_key_and_in_time_is_stored_and_only_once() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let bus = boxes(&town, &one).await;
    let right = envelope(&one, &two, "right");
    assert!(deliver(&bus, &right).await.is_stored());
    // The same again, be it a replay or a receipt that got lost.
    assert!(deliver(&bus, &right).await.is_stored());
    let mut resigned = right.clone();
    resigned.sent_at += 1;
    one.sign(&mut resigned);
    assert!(deliver(&bus, &resigned).await.is_stored());

    let forged = Envelope { message: "send money".into(), ..envelope(&one, &two, "forged") };
    let stranger = envelope(&NodeKey::random(), &two, "stranger");
    let with = |nonce: &str, change: &dyn Fn(&mut Envelope)| {
        let mut envelope = envelope(&one, &two, nonce);
        change(&mut envelope);
        one.sign(&mut envelope);
        envelope
    };
    let ahead = with("ahead", &|envelope| envelope.sent_at += 300);
    let behind = with("behind", &|envelope| envelope.sent_at -= 300);
    let to_come = with("to_come", &|envelope| envelope.created_at = 253_402_300_799);
    let never = with("never", &|envelope| envelope.created_at = i64::MAX);
    let late = with("late", &|envelope| envelope.created_at -= 3600);
    let to_none = |envelope: Envelope, key: &NodeKey| {
        let mut envelope = Envelope { target_context: ContextId(7), ..envelope };
        key.sign(&mut envelope);
        envelope
    };
    let other = NodeKey::random();
    let stranger_to_none = to_none(envelope(&other, &two, "stranger_to_none"), &other);
    let forged_to_none = Envelope { message: "send money".into(), ..to_none(envelope(&one, &two, "forged_to_none"), &one) };
    let elsewhere = with("elsewhere", &|envelope| envelope.target_context = ContextId(7));
    let jobless = with("jobless", &|envelope| envelope.message_type = MessageType::Job);
    let unasked = with("unasked", &|envelope| {
        (envelope.message_type, envelope.message) = (MessageType::Result, r#"{"status":"finished","output":"1"}"#.into());
    });
    for (envelope, part) in [
        (forged, "the signature is not that of"),
        (stranger, "is not trusted here: name its node in the setting nodes"),
        // Nobody learns by that whether there is such a context.
        (forged_to_none, "the signature is not that of"),
        (stranger_to_none, "is not trusted here: name its node in the setting nodes"),
        (late, "it came after its time: timeout_ack is 600 s"),
        (elsewhere, "context 7 does not exist"),
        (jobless, "1 to 64 jobs, not 0"),
        (unasked, "no result is awaited for that message"),
    ] {
        let receipt = deliver(&bus, &envelope).await;
        assert!(receipt.outcome == ReceiptStatus::Refused && receipt.text.contains(part), "{}: {receipt:?}", envelope.nonce);
    }
    // A clock may be mended, and the envelope is signed anew then.
    for (envelope, what) in [(ahead, "signed"), (behind, "signed"), (to_come, "made"), (never, "made")] {
        let receipt = deliver(&bus, &envelope).await;
        let part = format!("the clocks differ: it was {what} at");
        assert!(receipt.outcome == ReceiptStatus::Full && receipt.text.contains(&part), "{receipt:?}");
        assert_eq!(receipt.text.matches("Z").count(), 2, "both times are named: {}", receipt.text);
    }
    let known: Vec<String> = town.redis().run(&["ZRANGE", "hero:meta:nonces", "0", "-1"]).await;
    assert_eq!(known.len(), 1, "what was refused is not known: {known:?}");
    let large = Envelope { message: "x".repeat(5 << 20), ..envelope(&one, &two, "large") };
    let refused = bus.deliver(Boxes::IN, &large, None, PATIENT).await;
    assert!(matches!(refused, Err(BusError::TooLarge { .. })));
    assert_eq!(town.came(1).await, ["message:12:101"]);
}

/// An authority over a house where callers log in.
fn authority(house: &House) -> Authority {
    Authority::new([house.store.clone()], TokenKey::random())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_signs_for_itself_and_needs_the_right_in_the_context() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let house = House::empty().await;
    let access = authority(&house);
    let signing = SigningKey::from_slice(&[7; 32]).unwrap();
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let public = digits(signing.verifying_key().to_encoded_point(false).as_bytes());
    let change = IdentityChange { pubkey: Some(public.parse().unwrap()), address: None };
    let identity = access.create_identity(&change).await.unwrap().identity_id;
    let town = Town::over(house, &two, Plan { login: Some(authority), ..Plan::new(0) });
    let bus = boxes(&town, &one).await;
    let signed = |nonce: &str, caller: u32| {
        let mut envelope = envelope(&one, &two, nonce);
        // Long ago, by a clock of its own.
        (envelope.caller_id, envelope.sent_at, envelope.public_key) =
            (caller, envelope.sent_at - 400, public.parse::<SignerKey>().unwrap());
        envelope.created_at = envelope.sent_at;
        let signature: Signature = signing.sign(&envelope.signed(""));
        envelope.signature = digits(&signature.to_bytes());
        envelope
    };
    let refused = deliver(&bus, &signed("a", identity.0)).await;
    assert!(refused.text.contains("needs to be admin or caller in context 0"), "{refused:?}");
    let other = deliver(&bus, &signed("b", identity.0 + 1)).await;
    assert!(other.text.contains(&format!("was signed by identity {identity}, and says that it is of")), "{other:?}");
    // Where nobody has to log in, the key alone counts.
    let Town { house, _message_loops: message_loops, .. } = town;
    drop(message_loops);
    let town = Town::over(house, &two, Plan::new(0));
    let bus = boxes(&town, &one).await;
    assert!(deliver(&bus, &signed("c", identity.0)).await.is_stored());
    // What another program has taken from an identity signs no more, and what it has given one does.
    let redis = town.redis();
    let _: i64 = redis.run(&["HSET", &format!("actor:{identity}"), "pubkey", ""]).await;
    let refused = deliver(&bus, &signed("d", identity.0)).await;
    assert!(refused.outcome == ReceiptStatus::Refused && refused.text.contains("is not trusted here"), "{refused:?}");
    let _: i64 = redis.run(&["HSET", "actor:77", "id", "77", "pubkey", &public]).await;
    assert!(deliver(&bus, &signed("e", 77)).await.is_stored());
    // Whose number an identity had before signs as little as it logs in.
    access.delete_identity(identity).await.unwrap();
    let _: i64 = redis.run(&["HSET", &format!("actor:{identity}"), "id", &identity.to_string(), "pubkey", &public]).await;
    let refused = deliver(&bus, &signed("again", identity.0)).await;
    assert_eq!(refused.outcome, ReceiptStatus::Refused, "{refused:?}");
    // Whoever does not say whom it is for has it taken by nobody.
    let unnamed = Envelope { to: None, ..signed("f", 77) };
    let signature: Signature = signing.sign(&unnamed.signed(""));
    let refused = deliver(&bus, &Envelope { signature: digits(&signature.to_bytes()), ..unnamed }).await;
    assert!(refused.text.contains("it does not say which node it is for"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_submit_in_a_context_sends_no_messages_from_it() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan { login: Some(authority), ..Plan::new(0) }).await;
    let key = a.send(chat("x", &b.redis().url())).await;
    assert!(a.fails(key).await.contains("identity 12 needs to be admin or caller in context 0"));
}

/// A town with the contexts 0 and 1, where callers log in, and an identity that may submit in context 0.
async fn with_a_caller(key: &NodeKey) -> (Town, hero::model::IdentityId) {
    let house = House::with_contexts(&[ContextId(1)]).await;
    let login = |house: &House| Authority::new(house.dispatcher.contexts().stores(), TokenKey::random());
    let town = Town::over(house, key, Plan { login: Some(login), ..Plan::new(0) });
    let access = town.authority.as_ref().unwrap();
    let identity = access.create_identity(&IdentityChange::default()).await.unwrap().identity_id;
    access.set_role(CONTEXT, identity, Role::Caller, true).await.unwrap();
    (town, identity)
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_in_one_context_of_a_server_are_none_in_another() {
    let (town, identity) = with_a_caller(&NodeKey::random()).await;
    let (access, other) = (town.authority.clone().unwrap(), ContextId(1));
    let runner = town.runners.create(CONTEXT, &elsewhere("here", other)).await.unwrap().runner_id;
    let by = |caller: u32, draft: Draft| Draft { caller_id: caller, target_context: other, ..draft };
    let drafts = || [chat("x", "here"), jobs(&["1"], "here"), Draft { address: None, topic: Some(runner.group()), ..chat("x", "here") }];
    let needed = "needs to be admin or caller in context 1";
    for draft in drafts() {
        let key = town.send(by(identity.0, draft)).await;
        let why = town.fails(key).await;
        assert!(why.contains(&format!("identity {identity} {needed}")), "{why}");
    }
    // The job of a runner is for whoever created it.
    let job = |caller: &str| JobSpec { group: Some(runner.group()), caller_id: Some(caller.into()), ..spec("1") };
    for (caller, part) in [(identity.to_string(), format!("identity {identity} {needed}")), ("operator".into(), "it is of nobody".into())] {
        let failed = town.house.dispatcher.jobs().run_and_wait(job(&caller), PATIENCE).await.unwrap_err();
        assert!(failed.to_string().contains(&part), "{failed}");
    }
    let left: Vec<String> = town.redis().run_in(1, &["KEYS", "message:*"]).await;
    assert!(left.is_empty(), "{left:?}");
    access.set_role(other, identity, Role::Caller, true).await.unwrap();
    for draft in drafts() {
        let key = town.send(by(identity.0, draft)).await;
        town.becomes(key, MessageStatus::Acknowledged).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_sends_messages_without_a_role() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan { login: Some(authority), ..Plan::new(0) }).await;
    // The one who is nobody: where callers log in, only the operator may send so.
    let key = a.send(hero::model::Draft { caller_id: 0, ..chat("x", &b.redis().url()) }).await;
    a.becomes(key, MessageStatus::Acknowledged).await;
    assert_eq!(b.came(1).await, ["message:0:1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_by_a_topic_comes_to_the_context_of_its_runner() {
    let (town, identity) = with_a_caller(&NodeKey::random()).await;
    let (access, other) = (town.authority.clone().unwrap(), ContextId(1));
    let runner = town.runners.create(CONTEXT, &elsewhere("here", other)).await.unwrap().runner_id;
    let draft = || Draft { caller_id: identity.0, address: None, topic: Some(runner.group()), ..chat("x", "here") };
    let why = town.fails(town.send(draft()).await).await;
    assert!(why.contains("needs to be admin or caller in context 1"), "{why}");
    access.set_role(other, identity, Role::Caller, true).await.unwrap();
    let key = town.send(draft()).await;
    town.becomes(key, MessageStatus::Acknowledged).await;
    let came: Vec<String> = town.redis().run_in(1, &["LRANGE", "msg_in", "0", "-1"]).await;
    let not_here: Vec<String> = town.redis().run(&["LRANGE", "msg_in", "0", "-1"]).await;
    assert!(came.len() == 1 && not_here.is_empty(), "{came:?} {not_here:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_an_envelope_in_hand_gives_it_to_nobody_else_nor_back_to_its_sender() {
    let (one, two, three) = (NodeKey::random(), NodeKey::random(), NodeKey::random());
    let a = Town::open(&one, Plan::new(0).trusting(&one)).await;
    let c = Town::open(&three, Plan::new(0).trusting(&one)).await;
    // Somebody's Redis without a node of hero: whoever has it reads what lies there.
    let hostile = Redis::start().await;
    let runner = a.runner_at(&hostile.url(), &two).await;
    a.send(jobs(&["1"], &hostile.url())).await;
    a.send(Draft { address: None, topic: Some(runner.group()), ..jobs(&["2"], "here") }).await;
    let envelopes = until("both envelopes", || async {
        let nonces: Vec<String> = hostile.run(&["ZRANGE", "hero:bus:box:in", "0", "-1"]).await;
        let mut envelopes: Vec<Envelope> = Vec::new();
        for nonce in nonces {
            envelopes.extend(
                hostile
                    .run::<Option<String>>(&["GET", &format!("hero:bus:letter:in:{nonce}")])
                    .await
                    .and_then(|text| serde_json::from_str(&text).ok()),
            );
        }
        (envelopes.len() == 2).then_some(envelopes)
    })
    .await;
    assert_eq!(envelopes.iter().filter(|envelope| envelope.to.is_none()).count(), 1, "of one place nobody has said which node is there");
    for envelope in &envelopes {
        for town in [&a, &c] {
            let receipt = deliver(&boxes(town, &two).await, envelope).await;
            assert_eq!(receipt.outcome, ReceiptStatus::Full, "{receipt:?}");
            let part = if envelope.to.is_some() { "it is for the node" } else { "it does not say which node it is for" };
            assert!(receipt.text.contains(part), "{receipt:?}");
        }
    }
    // Nor is an envelope taken that says that it is for its own sender.
    let receipt = deliver(&boxes(&a, &two).await, &envelope(&one, &one, "back")).await;
    assert!(receipt.outcome == ReceiptStatus::Refused && receipt.text.contains("this node itself has sent it"), "{receipt:?}");
    for town in [&a, &c] {
        let stored: i64 = town.redis().run(&["EXISTS", "queue:osis", "msg_in"]).await;
        assert_eq!(stored, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_which_nobody_has_said_which_it_is_says_so_and_is_named_then() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let key = a.send(chat("x", &b.redis().url())).await;
    a.becomes(key, MessageStatus::Acknowledged).await;
    // The node there gets another key.
    let Town { house, _message_loops: message_loops, .. } = b;
    drop(message_loops);
    let b = Town::over(house, &NodeKey::random(), Plan::new(0).trusting(&one));
    let key = a.send(chat("y", &b.redis().url())).await;
    a.becomes(key, MessageStatus::Acknowledged).await;
    assert_eq!(a.hash(&key.to_string()).await["receiver_key"], b.key.public().as_str());
    // What leads back to its sender arrives nowhere.
    let own = a.send(Draft { timeout_ack: 1, ..chat("z", &a.redis().url()) }).await;
    assert!(a.fails(own).await.contains("the node that answers there is this one itself"));
}
