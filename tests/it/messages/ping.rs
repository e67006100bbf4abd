//! Pings show the node at an address.

use super::*;
use crate::support::Network;
use hero::coordinator::bus::Api;
use hero::model::PongAnswer;

async fn answer(town: &Town, address: &str) -> PongAnswer {
    let pong = town.messages.ping(CONTEXT, &address.parse().unwrap(), CONTEXT).await.unwrap();
    pong.answer.unwrap_or_else(|| panic!("{address}: {:?}", pong.error))
}

async fn silence(town: &Town, address: &str) -> String {
    let pong = town.messages.ping(CONTEXT, &address.parse().unwrap(), CONTEXT).await.unwrap();
    assert_eq!(pong.answer, None);
    pong.error.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_at_an_address_says_its_key_and_its_clock_and_whether_it_takes_what_is_signed_here() {
    let network = Network::default();
    let (here, there) = (network.node().await, network.node().await);
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let bus = |node: &crate::support::MyceliumNode| Some(Mycelium::new(&node.url(), Api::Rest, "hero").unwrap());
    let b = Town::open(&two, Plan { mycelium: bus(&there), ..Plan::new(0).trusting(&one) }).await;
    let a = Town::open(&one, Plan { mycelium: bus(&here), ..Plan::new(0) }).await;
    for address in [&b.redis().url(), &there.key, &there.ip] {
        let answer = answer(&a, address).await;
        assert_eq!((&answer.key, answer.trusts, answer.is_trusted, &answer.name), (&two.public(), true, false, &None), "{address}");
        // Both are on this machine.
        assert!(answer.clock_ahead.abs() < 60.0 && answer.round_trip.duration() > Duration::ZERO, "{answer:?}");
    }
    // The other way round, what is known is different.
    let back = answer(&b, &here.key).await;
    assert_eq!((back.key, back.trusts, back.is_trusted), (one.public(), false, true));
    assert_eq!(back.name.unwrap().as_str(), "node0");
    let own = answer(&a, "here").await;
    assert_eq!((own.key, own.trusts, own.is_trusted), (one.public(), true, true));
    // Nothing is stored of that.
    for town in [&a, &b] {
        let left: i64 = town.redis().run(&["EXISTS", "msg_in", "msg_out", "message:0:1", "message:0:0"]).await;
        assert_eq!(left, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_answers_it_is_said_why() {
    let network = Network::default();
    let (here, quiet) = (network.node().await, network.node().await);
    let bus = Mycelium::new(&here.url(), Api::Rest, "hero").unwrap();
    let a = Town::open(&NodeKey::random(), Plan { mycelium: Some(bus), ..Plan::new(0) }).await;
    let unknown = format!("{:064x}", 7);
    for (address, told) in [
        (unknown.as_str(), "has not found"),
        (&quiet.key, "nobody there has fetched it"),
        (&here.key, "does not deliver to itself"),
        ("redis://127.0.0.1:1", "the Redis of the other side is unavailable"),
        ("node:nowhere", "node nowhere is unknown here"),
    ] {
        let why = silence(&a, address).await;
        assert!(why.contains(told), "{address}: {why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ping_that_nobody_answers_leaves_nothing_and_one_of_this_node_itself_is_told_as_such() {
    let a = Town::open(&NodeKey::random(), Plan::new(0)).await;
    let key = "ab".repeat(32);
    let why = silence(&a, &format!("box:{key}")).await;
    assert!(why.contains("no hero node answered"), "{why}");
    let left: Vec<String> = a.redis().run(&["KEYS", "hero:bus:*"]).await;
    assert!(left.iter().all(|left| !left.contains(&key)), "{left:?}");
    // Others may have filled it: envelopes come first.
    for at in 0..100 {
        let _: i64 = a.redis().run(&["ZADD", &format!("hero:bus:box:{key}"), "1", &format!("n{at}")]).await;
    }
    let why = silence(&a, &format!("box:{key}")).await;
    assert!(why.contains("mailbox is full"), "{why}");
    // Its own Redis, named as that of another node.
    let why = silence(&a, &a.redis().url()).await;
    assert!(why.contains("this node") || why.contains("itself"), "{why}");
}
