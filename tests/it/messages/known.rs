//! Received envelopes and results: the bounded memory of them, and how they are read.

use hero::coordinator::bus::{Boxes, Bus};
use hero::coordinator::envelope::{Envelope, Kind};
use hero::coordinator::receipt::{Receipt, ReceiptStatus};
use hero::model::{JobId, JobSpec, Status};

use super::trust::{boxes, deliver, envelope};
use super::*;
use crate::support::spec;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_envelope_is_taken_away_and_stops_nobody() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let redis = town.redis();
    let _: String = redis.run(&["SET", "hero:bus:letter:in:bad", "nonsense"]).await;
    let _: i64 = redis.run(&["LPUSH", "hero:bus:letter:in:list", "x"]).await;
    let _: String = redis.run(&["SET", "hero:bus:letter:in:long", &"x".repeat((4 << 20) + 1)]).await;
    for nonce in ["bad", "gone", "list", "long"] {
        let _: i64 = redis.run(&["ZADD", "hero:bus:box:in", "1", nonce]).await;
    }
    assert!(deliver(&boxes(&town, &one).await, &envelope(&one, &two, "right")).await.is_stored());
    until("an empty box", || async {
        let left: i64 = redis.run(&["EXISTS", "hero:bus:box:in", "hero:bus:letter:in:bad", "hero:bus:letter:in:long"]).await;
        (left == 0).then_some(())
    })
    .await;
    let told: String = redis.run(&["GET", "hero:bus:receipt:long"]).await;
    let receipt: Receipt = serde_json::from_str(&told).unwrap();
    assert!(receipt.outcome == ReceiptStatus::Refused && receipt.text.contains("4194305 bytes on its way, the limit is 4194304"), "{told}");
}

#[tokio::test]
async fn envelopes_are_read_in_portions_that_have_a_bound() {
    let redis = Redis::start().await;
    let boxes = redis.store().await.mailboxes();
    for n in 0..6 {
        assert!(boxes.put("in", &format!("n{n}"), &"x".repeat(1000)).await.unwrap());
    }
    let mut seen = Vec::new();
    while seen.len() < 6 {
        let portion = boxes.envelopes("in", 32, 1000, 2500).await.unwrap();
        assert_eq!(portion.len(), 2, "{portion:?}");
        for (nonce, envelope) in portion {
            assert_eq!(envelope.unwrap().len(), 1000);
            boxes.answer("in", &nonce, "{}").await.unwrap();
            seen.push(nonce);
        }
    }
    // One that is larger than a portion is one of its own.
    assert!(boxes.put("in", "large", &"x".repeat(3000)).await.unwrap());
    assert_eq!(boxes.envelopes("in", 32, 5000, 2500).await.unwrap().len(), 1);
    assert_eq!(boxes.envelopes("in", 32, 1000, 2500).await.unwrap(), [("large".to_owned(), Err(3000))]);
}

/// The result of a job that went out with a message.
pub(super) fn result(key: &NodeKey, to: &NodeKey, asked: MessageKey, awaited: &str, nonce: &str, said: &str) -> Envelope {
    let mut envelope = Envelope {
        caller_id: asked.caller_id,
        message_type: MessageType::Result,
        message: said.into(),
        in_reply_to: awaited.into(),
        answers: asked.message_id,
        ..envelope(key, to, nonce)
    };
    key.sign(&mut envelope);
    envelope
}

/// The message with which a job went out that was started here, once the other side has it.
async fn went_out(town: &Town, runner: RunnerId) -> (JobId, MessageKey, String) {
    let id = town.house.start(JobSpec { group: Some(runner.group()), ..spec("1") }).await;
    let job = format!("hero:job:{id}");
    let away = until("its message", || async { town.redis().run::<Option<String>>(&["HGET", &job, "away"]).await }).await;
    let key: MessageKey = away.parse().unwrap();
    town.becomes(key, MessageStatus::Acknowledged).await;
    let nonce = town.hash(&key.to_string()).await["nonce"].clone();
    (id, key, nonce)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nonce_is_its_signers_own() {
    let (one, two, three) = (NodeKey::random(), NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan { trusts: vec![one.clone(), three.clone()], ..Plan::new(0) }).await;
    for key in [&one, &three, &one] {
        assert!(deliver(&boxes(&town, key).await, &envelope(key, &two, "guessed")).await.is_stored());
    }
    assert_eq!(town.came(2).await, ["message:12:1", "message:12:101"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_of_messages_has_a_bound_and_keeps_no_result_out() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0).trusting(&two)).await;
    let (id, asked, awaited) = went_out(&a, a.runner_in(&b).await).await;
    let fill = |until: &'static str, many: &'static str| {
        let code = "for n = 1, ARGV[2] do redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. n) end";
        ["EVAL", code, "1", "hero:meta:nonces", until, many]
    };
    let known = async || a.redis().run::<i64>(&["ZCARD", "hero:meta:nonces"]).await;
    // What cannot come again is forgotten in steps.
    let _: Option<String> = a.redis().run(&fill("1", "2500")).await;
    let bus = boxes(&a, &two).await;
    for (nonce, left) in [("x", 1501), ("y", 502), ("z", 3)] {
        assert!(deliver(&bus, &envelope(&two, &one, nonce)).await.is_stored());
        assert_eq!(known().await, left);
    }
    let _: Option<String> = a.redis().run(&fill("+inf", "200000")).await;
    let refused = deliver(&bus, &envelope(&two, &one, "more")).await;
    assert!(refused.outcome == ReceiptStatus::Full && refused.text.contains("it remembers the maximum number"), "{refused:?}");
    let right = result(&two, &one, asked, &awaited, "result", r#"{"status":"finished","output":"42"}"#);
    for _ in 0..2 {
        assert!(deliver(&bus, &right).await.is_stored());
    }
    a.house.is(&id, Status::Finished).await;
    assert_eq!(known().await, 200_003);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_signer_takes_the_room_that_others_need_for_what_is_known_of_messages() {
    let (one, two, three) = (NodeKey::random(), NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan { trusts: vec![one.clone(), three.clone()], ..Plan::new(0) }).await;
    let (bus, redis) = (boxes(&town, &one).await, town.redis());
    let whose = &one.public().to_string()[..32];
    // So many that as many more have room, each counted as that of the one.
    let code = "for n = 1, 100000 do redis.call('ZADD', KEYS[1], '+inf', ARGV[1] .. ':' .. n) end
        redis.call('HSET', KEYS[2], ARGV[1], 100000, 'all', 100000)";
    let _: Option<String> = redis.run(&["EVAL", code, "2", "hero:meta:nonces", "hero:meta:known", whose]).await;
    let refused = deliver(&bus, &envelope(&one, &two, "more")).await;
    assert!(refused.outcome == ReceiptStatus::Full && refused.text.contains("of this signer"), "{refused:?}");
    // A stop for what never came takes room, too.
    let mut stop = Envelope {
        kind: Kind::Stop,
        message_type: MessageType::Job,
        in_reply_to: "never".into(),
        answers: 7,
        ..envelope(&one, &two, "stop")
    };
    one.sign(&mut stop);
    assert_eq!(deliver(&bus, &stop).await.outcome, ReceiptStatus::Full);
    assert!(deliver(&boxes(&town, &three).await, &envelope(&three, &two, "first")).await.is_stored());
    let counted: BTreeMap<String, String> = town.hash("hero:meta:known").await;
    assert_eq!((counted["all"].as_str(), counted[&three.public().to_string()[..32]].as_str()), ("100001", "1"));
    // As some of it is over, there is room again.
    for n in 1..=2 {
        let _: i64 = redis.run(&["ZADD", "hero:meta:nonces", "1", &format!("{whose}:{n}")]).await;
    }
    assert!(deliver(&bus, &envelope(&one, &two, "later")).await.is_stored());
    // Counts that do not agree with what is known keep nobody out.
    let _: i64 = redis.run(&["HSET", "hero:meta:known", whose, "200000", "all", "7"]).await;
    assert!(deliver(&bus, &envelope(&one, &two, "last")).await.is_stored());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_for_a_message_that_never_came_is_known_for_a_day_at_most() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let mut stop = Envelope {
        kind: Kind::Stop,
        message_type: MessageType::Job,
        in_reply_to: "never".into(),
        answers: 7,
        timeout_ack: 20 * 24 * 3600,
        ..envelope(&one, &two, "stop")
    };
    one.sign(&mut stop);
    assert!(deliver(&boxes(&town, &one).await, &stop).await.is_stored());
    let known: Vec<String> = town.redis().run(&["ZRANGE", "hero:meta:nonces", "0", "-1", "WITHSCORES"]).await;
    let over = town.house.store.clock().now().as_millis() + 24 * 3600 * 1000;
    assert!(known.len() == 2 && known[1].parse::<i64>().unwrap() <= over, "{known:?}, {over}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_result_of_a_message_counts_once() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let asked = a.send(jobs(&["1", "2"], &b.redis().url())).await;
    a.becomes(asked, MessageStatus::Acknowledged).await;
    let awaited = a.hash(&asked.to_string()).await["nonce"].clone();
    let bus = boxes(&a, &two).await;
    let of = |nonce: &str| result(&two, &one, asked, &awaited, nonce, r#"{"job":2001,"status":"finished","output":"1"}"#);
    for nonce in ["first", "second", "first", "second"] {
        assert!(deliver(&bus, &of(nonce)).await.is_stored(), "{nonce}");
    }
    assert_eq!(a.came(2).await.len(), 2);
    for n in 2..64 {
        assert!(deliver(&bus, &of(&format!("n{n}"))).await.is_stored());
    }
    let refused = deliver(&bus, &of("more")).await;
    assert!(refused.outcome == ReceiptStatus::Refused && refused.text.contains("no result is awaited"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_not_lost_because_a_clock_is_wrong_for_a_while() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    // Nobody runs jobs there.
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let runner = a.runner_in(&b).await;
    let (id, asked, awaited) = went_out(&a, runner).await;
    let bus = boxes(&a, &two).await;
    let mut early = result(&two, &one, asked, &awaited, "result", r#"{"status":"finished","output":"42"}"#);
    early.sent_at += 300;
    two.sign(&mut early);
    let receipt = deliver(&bus, &early).await;
    assert!(receipt.outcome == ReceiptStatus::Full && receipt.text.contains("the clocks differ"), "{receipt:?}");
    a.house.is(&id, Status::Started).await;
    let right = result(&two, &one, asked, &awaited, "result", r#"{"status":"finished","output":"42"}"#);
    assert!(deliver(&bus, &right).await.is_stored());
    a.house.is(&id, Status::Finished).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn why_a_message_has_not_arrived_yet_stands_in_its_log() {
    let (one, two, other) = (NodeKey::random(), NodeKey::random(), Redis::start().await);
    let a = Town::open(&one, Plan::new(0)).await;
    let there = Boxes::new(other.store().await.mailboxes(), Boxes::IN.to_owned());
    let key = a.send(chat("x", &other.url())).await;
    // The first one asks which node is there.
    let mut outcomes =
        [(ReceiptStatus::Full, "who it is for"), (ReceiptStatus::Full, "the clocks differ"), (ReceiptStatus::Stored, "")].into_iter();
    while outcomes.len() > 0 {
        for received in there.receive(Duration::from_secs(1)).await.unwrap() {
            let Some((outcome, text)) = outcomes.next() else { break };
            let envelope: Envelope = serde_json::from_str(received.envelope.as_deref().unwrap()).unwrap();
            there.answer(&received, &Receipt::new(&envelope, outcome, text.into(), &two)).await.unwrap();
        }
    }
    let message = a.becomes(key, MessageStatus::Acknowledged).await;
    let logged: Vec<&str> = message.logs.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(logged, ["it has not arrived yet: the clocks differ"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_counts_from_the_key_of_the_runner_only() {
    let (one, two, three) = (NodeKey::random(), NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0).trusting(&three)).await;
    let runner = a.runner_in(&b).await;
    let (id, asked, awaited) = went_out(&a, runner).await;
    let bus = boxes(&a, &two).await;
    let said = |output: &str| format!(r#"{{"status":"finished","output":"{output}"}}"#);
    let by_another = deliver(&bus, &result(&three, &one, asked, &awaited, "another", &said("1"))).await;
    assert!(by_another.outcome == ReceiptStatus::Refused && by_another.text.contains("does not have the key"), "{by_another:?}");
    // What is for another node, wherever it is read and put again.
    let mut elsewhere = result(&two, &one, asked, &awaited, "elsewhere", &said("2"));
    elsewhere.to = Some(three.public());
    two.sign(&mut elsewhere);
    assert_eq!(deliver(&bus, &elsewhere).await.outcome, ReceiptStatus::Full);
    let mut right = result(&two, &one, asked, &awaited, "right", &said("3"));
    right.to = Some(one.public());
    two.sign(&mut right);
    assert!(deliver(&bus, &right).await.is_stored());
    a.house.is(&id, Status::Finished).await;
    assert_eq!(a.house.dispatcher.jobs().result(CONTEXT, &id).await.unwrap().output, "3");
}
