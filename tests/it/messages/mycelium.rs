//! Behavior specific to Mycelium nodes. The fakes behave as v0.7.10 does.

use hero::coordinator::bus::{Api, Bus, BusError, Mycelium};
use hero::coordinator::receipt::{Receipt, ReceiptStatus};
use hero::model::JobSpec;

use super::bus::{SHORT, envelope, receive, stored};
use super::*;
use crate::support::{MyceliumNode, Network, PATIENCE, spec};

const APIS: [Api; 2] = [Api::Rest, Api::JsonRpc];

fn bus(node: &MyceliumNode, api: Api) -> Mycelium {
    Mycelium::new(&node.url(), api, "hero").unwrap()
}

/// Towns that reach each other by nodes of theirs: the first has a runner whose jobs run in the second.
async fn towns(network: &Network, api: Api) -> ([MyceliumNode; 2], [Town; 2], RunnerId) {
    let nodes = [network.node().await, network.node().await];
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan { mycelium: Some(bus(&nodes[1], api)), ..Plan::new(1).trusting(&one) }).await;
    let a = Town::open(&one, Plan { mycelium: Some(bus(&nodes[0], api)), ..Plan::new(0) }).await;
    let runner = a.runner_at(&nodes[1].key, &two).await;
    (nodes, [a, b], runner)
}

/// The number of times a node was given a message.
fn given(node: &MyceliumNode) -> usize {
    let gives = |asked: &&String| asked.starts_with("POST /api/v1/messages?") || asked.starts_with("pushMessage ");
    node.asked().iter().filter(gives).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_topic_serves_all_runners_of_a_type_wherever_their_nodes_are() {
    let network = Network::default();
    let (nodes, [a, b], runner) = towns(&network, Api::Rest).await;
    let (third, key) = (network.node().await, NodeKey::random());
    let c = Town::open(&key, Plan { mycelium: Some(bus(&third, Api::Rest)), ..Plan::new(1).trusting(&a.key) }).await;
    a.runner_at(&third.key, &key).await;
    let draft = |message: &str| Draft { address: None, topic: Some("osis".parse().unwrap()), ..chat(message, &nodes[1].key) };
    for message in ["1", "2", "3", "4"] {
        a.becomes(a.send(draft(message)).await, MessageStatus::Acknowledged).await;
    }
    for town in [&b, &c] {
        let came: i64 = town.redis().run(&["LLEN", "msg_in"]).await;
        assert_eq!(came, 2);
    }
    // Jobs of one of them go there alone, as before.
    let job = JobSpec { group: Some(runner.group()), ..spec("40 + 2") };
    assert_eq!(a.house.dispatcher.jobs().run_and_wait(job, PATIENCE).await.unwrap().output, "42");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_for_messages_waits_so_that_none_holds_up_what_is_sent() {
    for api in APIS {
        let network = Network::default();
        let (nodes, [a, _b], runner) = towns(&network, api).await;
        let working = async {
            for n in 0..10 {
                let job = JobSpec { group: Some(runner.group()), ..spec(&format!("{n} + 2")) };
                let done = a.house.dispatcher.jobs().run_and_wait(job, PATIENCE).await.unwrap();
                assert_eq!(done.output, (n + 2).to_string());
            }
        };
        // Where a request waits as long as it may, each of them takes longer than that.
        tokio::time::timeout(PATIENCE, working).await.unwrap();
        for node in &nodes {
            let waits = |asked: &String| asked.contains("?timeout=") || asked.contains("&timeout=");
            let pops = |asked: &String| asked.starts_with("popMessage ") && !asked.contains(",0,");
            assert!(!node.asked().iter().any(|asked| waits(asked) || pops(asked)), "{:?}", node.asked());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_node_is_told_from_one_where_nobody_fetches_and_what_a_node_brings_it_is_not_given_again() {
    for api in APIS {
        let network = Network::default();
        let (here, key) = (network.node().await, NodeKey::random());
        let sender = bus(&here, api);
        let (sent, to) = (envelope(&key, "x"), format!("{:064x}", 7));
        for _ in 0..2 {
            let unknown = sender.deliver(&to, &sent, None, SHORT).await.unwrap_err();
            assert!(!unknown.is_final() && unknown.to_string().contains(&format!("has not found {to}")), "{unknown}");
        }
        // It appears, and has the message by itself.
        let there = network.node_of(&to).await;
        let slow = sender.deliver(&to, &sent, None, SHORT).await.unwrap_err();
        assert!(!slow.is_final() && slow.to_string().contains("nobody there has fetched it"), "{slow}");
        // Somebody fetches it, and the receipt, which comes late, reaches its sender.
        let receiver = bus(&there, api);
        let delivering = async {
            let fetching = async {
                loop {
                    assert!(sender.receive(SHORT).await.unwrap().is_empty());
                }
            };
            tokio::select! {
                receipt = sender.deliver(&to, &sent, None, PATIENCE) => receipt.unwrap(),
                () = fetching => unreachable!("it goes on"),
            }
        };
        let (receipt, received) = tokio::join!(delivering, receive(&receiver, &key));
        assert_eq!((receipt.is_stored(), received), (true, vec![sent]));
        assert_eq!((given(&here), here.lie(), there.lie()), (1, 0, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn late_receipts_are_fetched_and_messages_of_other_programs_stay() {
    for api in APIS {
        let network = Network::default();
        let (here, key) = (network.node().await, NodeKey::random());
        // Of a life before this one.
        let receipt = serde_json::to_string(&stored(&envelope(&key, "x"), &key)).unwrap();
        here.put("0000000000000001", &hero_base64(&receipt));
        let fetcher = bus(&here, api);
        assert!(fetcher.receive(SHORT).await.unwrap().is_empty());
        assert_eq!(here.lie(), 0);
        here.put("0000000000000002", &hero_base64("of another program"));
        here.put("0000000000000003", &hero_base64(&receipt));
        // Late ones are expected again.
        sender_hears_nothing(&fetcher, &key).await;
        let looks = |asked: &&String| asked.contains("peek=true") || asked.starts_with("popMessage [true");
        let before = here.asked().iter().filter(looks).count();
        until("a look at what has no topic", || async {
            assert!(fetcher.receive(SHORT).await.unwrap().is_empty());
            (here.asked().iter().filter(looks).count() > before).then_some(())
        })
        .await;
        assert_eq!(here.lie(), 2);
    }
}

fn hero_base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// Sends something to which there is no reply in time.
async fn sender_hears_nothing(sender: &Mycelium, key: &NodeKey) {
    let to = format!("{:064x}", 8);
    let unknown = sender.deliver(&to, &envelope(key, "nobody hears it"), None, SHORT).await.unwrap_err();
    assert!(!unknown.is_final(), "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_envelope_that_is_too_large_is_refused_before_it_is_sent_and_once_and_for_all() {
    let network = Network::default();
    let (here, there, key) = (network.node().await, network.node().await, NodeKey::random());
    let large = envelope(&key, &"x".repeat(1_600_000));
    let rest = bus(&here, Api::Rest);
    let refused = rest.deliver(&there.key, &large, None, PATIENCE).await.unwrap_err();
    assert!(matches!(refused, BusError::TooLarge { size: 1_600_000.., limit: 1_500_000..1_600_000 }), "{refused}");
    assert!(refused.is_final() && here.asked().is_empty(), "{refused}");
    // JSON-RPC takes that.
    let (sender, receiver) = (bus(&here, Api::JsonRpc), bus(&there, Api::JsonRpc));
    let (receipt, received) = tokio::join!(sender.deliver(&there.key, &large, None, PATIENCE), receive(&receiver, &key));
    assert_eq!((receipt.unwrap().is_stored(), received), (true, vec![large]));
    // A node that takes less says so.
    here.takes(1000);
    for api in APIS {
        let refused = bus(&here, api).deliver(&there.key, &envelope(&key, &"x".repeat(2000)), None, PATIENCE).await.unwrap_err();
        assert!(refused.is_final(), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_too_large_is_in_error_at_once() {
    let network = Network::default();
    let (nodes, [a, _b], _) = towns(&network, Api::Rest).await;
    let before = given(&nodes[0]);
    // Each of these is six bytes on its way.
    let why = a.fails(a.send(chat(&"\u{1}".repeat(300_000), &nodes[1].key)).await).await;
    assert!(why.contains("bytes on its way, the limit is 15"), "{why}");
    assert_eq!(given(&nodes[0]), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_to_the_own_node_which_carries_nothing_to_itself() {
    for api in APIS {
        let (network, key) = (Network::default(), NodeKey::random());
        let here = network.node().await;
        for to in [&here.key, &here.ip] {
            let refused = bus(&here, api).deliver(to, &envelope(&key, "x"), None, PATIENCE).await.unwrap_err();
            assert!(refused.is_final() && refused.to_string().contains("does not deliver to itself: use the address here"), "{refused}");
        }
        assert_eq!(here.lie(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_off_for_a_while_is_brought_what_was_sent_meanwhile() {
    for api in APIS {
        let network = Network::default();
        let (nodes, [a, b], runner) = towns(&network, api).await;
        nodes[1].halt(true);
        let job = a.house.start(JobSpec { group: Some(runner.group()), ..spec("40 + 2") }).await;
        until("an attempt in vain", || async { (given(&nodes[0]) > 0).then_some(()) }).await;
        nodes[1].halt(false);
        a.house.is(&job, hero::model::Status::Finished).await;
        let jobs = b.house.dispatcher.jobs().list(CONTEXT, &Default::default(), None, 100).await.unwrap().jobs;
        assert_eq!(jobs.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_that_says_later_has_an_envelope_sent_again() {
    let network = Network::default();
    let (here, there, key) = (network.node().await, network.node().await, NodeKey::random());
    let (sender, receiver, sent) = (bus(&here, Api::Rest), bus(&there, Api::Rest), envelope(&key, "x"));
    let full = async {
        let received = until("an envelope", || async { receiver.receive(SHORT).await.unwrap().into_iter().next() }).await;
        receiver.answer(&received, &Receipt::new(&sent, ReceiptStatus::Full, "no room".into(), &key)).await.unwrap();
    };
    let (receipt, ()) = tokio::join!(sender.deliver(&there.key, &sent, None, PATIENCE), full);
    assert_eq!(receipt.unwrap().text, "no room");
    let (receipt, _) = tokio::join!(sender.deliver(&there.key, &sent, None, PATIENCE), receive(&receiver, &key));
    assert_eq!((receipt.unwrap().is_stored(), given(&here)), (true, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_for_real_nodes_finds_all_as_it_should_be_over_their_stand_ins() {
    let network = Network::default();
    let (one, two) = (network.node().await, network.node().await);
    let mut script = tokio::process::Command::new("bash");
    script.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mycelium.sh")).kill_on_drop(true);
    script
        .env("MYCELIUM_URL", format!("{} {}", one.url(), two.url()))
        .env("HERO", env!("CARGO_BIN_EXE_hero"))
        .env("JOBS", std::env::var("JOBS").unwrap_or_else(|_| "3".into()));
    let done = tokio::time::timeout(PATIENCE * 5, script.output()).await.unwrap().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    println!("{out}");
    assert!(done.status.success() && out.ends_with("all is as it should be\n"), "{out}\n{err}");
}
