//! Who signs, and whose word counts.

use hero::access::{IdentityChange, TokenKey};
use hero::coordinator::bus::{Boxes, Bus, BusError};
use hero::coordinator::letter::{Letter, Outcome, Receipt};
use hero::model::SignerKey;
use k256::ecdsa::signature::Signer as _;
use k256::ecdsa::{Signature, SigningKey};

use super::*;

const PATIENT: Duration = Duration::from_secs(30);

fn seconds() -> i64 {
    hero::model::Timestamp::local().as_millis() / 1000
}

fn letter(key: &NodeKey, nonce: &str) -> Letter {
    let mut letter = Letter {
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
        public_key: key.public(),
        signature: String::new(),
    };
    key.sign(&mut letter);
    letter
}

/// The letters that a node puts into the Redis of a town.
async fn boxes(town: &Town, own: &NodeKey) -> Boxes {
    Boxes::connect(&town.redis().endpoint(), CONTEXT, own.public().to_string()).await.unwrap()
}

async fn deliver(boxes: &Boxes, letter: &Letter) -> Receipt {
    boxes.deliver(Boxes::IN, letter, PATIENT).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_signed_rightly_by_a_known_key_and_in_time_is_stored_and_only_once() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let bus = boxes(&town, &one).await;
    let right = letter(&one, "right");
    assert!(deliver(&bus, &right).await.is_stored());
    // The same again, be it a replay or a receipt that got lost.
    assert!(deliver(&bus, &right).await.is_stored());
    let mut resigned = right.clone();
    resigned.sent_at += 1;
    one.sign(&mut resigned);
    assert!(deliver(&bus, &resigned).await.is_stored());

    let forged = Letter { message: "send money".into(), ..letter(&one, "forged") };
    let stranger = letter(&NodeKey::random(), "stranger");
    let with = |nonce: &str, change: &dyn Fn(&mut Letter)| {
        let mut letter = letter(&one, nonce);
        change(&mut letter);
        one.sign(&mut letter);
        letter
    };
    let ahead = with("ahead", &|letter| letter.sent_at += 300);
    let behind = with("behind", &|letter| letter.sent_at -= 300);
    let late = with("late", &|letter| letter.created_at -= 3600);
    let elsewhere = with("elsewhere", &|letter| letter.target_context = ContextId(7));
    let jobless = with("jobless", &|letter| letter.message_type = MessageType::Job);
    let unasked = with("unasked", &|letter| {
        (letter.message_type, letter.message) = (MessageType::Result, r#"{"status":"finished","output":"1"}"#.into());
    });
    for (letter, part) in [
        (forged, "the signature is not that of"),
        (stranger, "is not trusted here: name its node in the setting nodes"),
        (ahead, "the clocks differ: it was signed at"),
        (behind, "the clocks differ: it was signed at"),
        (late, "it came after its time: timeout_ack is 600 s"),
        (elsewhere, "context 7 does not exist"),
        (jobless, "1 to 64 jobs, not 0"),
        (unasked, "nobody waits for that result"),
    ] {
        let receipt = deliver(&bus, &letter).await;
        assert!(receipt.outcome == Outcome::Refused && receipt.text.contains(part), "{}: {receipt:?}", letter.nonce);
        if part.starts_with("the clocks") {
            assert_eq!(receipt.text.matches("Z").count(), 2, "both times are named: {}", receipt.text);
        }
    }
    let large = Letter { message: "x".repeat(5 << 20), ..letter(&one, "large") };
    let refused = bus.deliver(Boxes::IN, &large, PATIENT).await;
    assert!(matches!(refused, Err(BusError::TooLarge { .. })));
    assert_eq!(town.came(1).await, ["message:12:101"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_letter_is_taken_away_and_stops_nobody() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let redis = town.redis();
    let _: String = redis.run(&["SET", "hero:bus:letter:in:bad", "nonsense"]).await;
    for nonce in ["bad", "gone"] {
        let _: i64 = redis.run(&["ZADD", "hero:bus:box:in", "1", nonce]).await;
    }
    assert!(deliver(&boxes(&town, &one).await, &letter(&one, "right")).await.is_stored());
    until("an empty box", || async {
        let left: i64 = redis.run(&["EXISTS", "hero:bus:box:in", "hero:bus:letter:in:bad"]).await;
        (left == 0).then_some(())
    })
    .await;
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
        let mut letter = letter(&one, nonce);
        // Long ago, by a clock of its own.
        (letter.caller_id, letter.sent_at, letter.public_key) = (caller, letter.sent_at - 400, public.parse::<SignerKey>().unwrap());
        letter.created_at = letter.sent_at;
        let signature: Signature = signing.sign(&letter.signed());
        letter.signature = digits(&signature.to_bytes());
        letter
    };
    let refused = deliver(&bus, &signed("a", identity.0)).await;
    assert!(refused.text.contains("needs to be admin or caller in context 0"), "{refused:?}");
    let other = deliver(&bus, &signed("b", identity.0 + 1)).await;
    assert!(other.text.contains(&format!("was signed by identity {identity}, and says that it is of")), "{other:?}");
    // Where nobody has to log in, the key alone counts.
    let Town { house, _supervisor: supervisor, .. } = town;
    drop(supervisor);
    let town = Town::over(house, &two, Plan::new(0));
    assert!(deliver(&boxes(&town, &one).await, &signed("c", identity.0)).await.is_stored());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_submit_in_a_context_sends_no_messages_from_it() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan { login: Some(authority), ..Plan::new(0) }).await;
    let key = a.send(chat("x", &b.redis().url())).await;
    let failed = until("its error", || async {
        let message = a.messages.get(CONTEXT, key).await.unwrap();
        (message.status == MessageStatus::Error).then_some(message)
    })
    .await;
    assert!(failed.error.unwrap().contains("identity 12 needs to be admin or caller in context 0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_sends_messages_without_a_role() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan { login: Some(authority), ..Plan::new(0) }).await;
    // The one who is nobody: where callers log in, only the operator may send so.
    let key = a.send(hero::coordinator::Draft { caller_id: 0, ..chat("x", &b.redis().url()) }).await;
    a.becomes(key, MessageStatus::Acknowledged).await;
    assert_eq!(b.came(1).await, ["message:0:1"]);
}
