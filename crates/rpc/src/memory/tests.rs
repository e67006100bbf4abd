use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::*;
use crate::limits::Limits;

fn connection(limits: &Limits) -> (Divided, Divided, Arc<ConnectionMemory>) {
    let (address, server) = (Divided::of_address(limits, false), Divided::of_server(limits, false));
    let connection = ConnectionMemory::open(limits, &address, &server, true);
    (address, server, connection)
}

impl Divided {
    fn used(&self) -> [u64; 2] {
        [Side::Anonymous, Side::Known].map(|side| self.of(side).used.load(Ordering::SeqCst))
    }
}

#[tokio::test]
async fn memory_is_counted_per_connection_address_and_server_and_freed() {
    let handler_timeout = Duration::from_millis(10).into();
    let limits = Limits { held_per_connection: 101, held_per_address: 151, held: 201, handler_timeout, ..Limits::default() };
    let (address, server, first) = connection(&limits);
    let second = ConnectionMemory::open(&limits, &address, &server, true);
    let mut request = RequestReservation::of(&first);
    assert!(request.grow(60).await && !request.grow(60).await && request.grow(40).await);
    let mut other = RequestReservation::of(&second);
    assert!(!other.grow(60).await && other.grow(50).await);
    second.made(80);
    assert!(!second.has_room(false) && server.used()[1] == 230);
    drop((request, other));
    second.written(30);
    assert!(second.has_room(false) && second.unsent() == 50);
    second.written(1000);
    assert_eq!(second.unsent(), 0);
    second.made(70);
    drop(second);
    assert_eq!((address.used()[1], server.used()[1]), (0, 0));
}

#[tokio::test]
async fn a_full_budget_refuses_only_large_requests_of_others() {
    let handler_timeout = Duration::from_millis(10).into();
    let limits = Limits { held_per_address: 200_001, held: 200_001, handler_timeout, ..Limits::default() };
    let (address, server, hog) = connection(&limits);
    let mut hogged = RequestReservation::of(&hog);
    assert!(hogged.grow(200_000).await);
    let other = ConnectionMemory::open(&limits, &Divided::of_address(&limits, false), &server, true);
    let mut small = RequestReservation::of(&other);
    assert!(small.grow(60_000).await && !small.grow(60_000).await);
    assert!(!RequestReservation::of(&hog).grow(1).await, "its own address uses too much");
    let of_address = ConnectionMemory::open(&limits, &address, &server, true);
    let mut tiny = RequestReservation::of(&of_address);
    assert!(tiny.grow(16_000).await && !tiny.grow(1_000).await, "it does, but this connection next to nothing");
    drop(tiny);
    drop((hogged, small));
    assert_eq!(server.used(), [0, 0]);
}

#[tokio::test]
async fn large_answers_are_made_two_at_a_time() {
    let (_address, _server, connection) = connection(&Limits::default());
    let (first, _second) = (connection.admit(Size::Large, false).await, connection.admit(Size::Large, false).await);
    let third = connection.admit(Size::Large, false);
    tokio::pin!(third);
    assert!(futures_util::poll!(third.as_mut()).is_pending());
    assert!(connection.admit(Size::Small, false).await.is_empty());
    drop(first);
    assert_eq!(third.await.len(), 3);
}

#[tokio::test]
async fn the_first_free_byte_lets_one_begin_and_not_everybody() {
    // Each estimate is a 16th of the room.
    let limits = Limits { held_per_address: 16_000, ..Limits::default() };
    let (address, _server, reader) = connection(&limits);
    reader.made(16_000);
    let others: Vec<_> = (0..8).map(|_| ConnectionMemory::open(&limits, &address, &Divided::of_server(&limits, false), true)).collect();
    let mut calls: FuturesUnordered<_> = others.iter().map(|other| other.admit(Size::Medium, false)).collect();
    assert!(calls.next().now_or_never().is_none());
    reader.written(1);
    let first = calls.next().now_or_never();
    assert!(first.is_some() && calls.next().now_or_never().is_none(), "a byte is room for one");
    drop(first);
    assert!(calls.next().now_or_never().is_some());
}

#[tokio::test]
async fn answers_of_batches_leave_half_of_a_budget_to_others_and_are_no_slow_reader() {
    let limits = Limits { held_per_address: 16_000, ..Limits::default() };
    let (address, server, hog) = connection(&limits);
    let other = ConnectionMemory::open(&limits, &address, &server, true);
    let answers = BatchAnswers::new(Arc::clone(&hog), 20_000);
    answers.add(8_000);
    assert_eq!((answers.excess(), hog.unsent()), (None, 0));
    assert!(other.has_room(true), "who uses little need not wait for small answers");
    assert!(!other.accepts(true) && other.accepts(false));
    let mut waits = Box::pin(other.admit(Size::Medium, true));
    assert!(futures_util::poll!(waits.as_mut()).is_pending());
    assert_eq!((answers.send(), hog.unsent()), (8_000, 8_000));
    assert!(futures_util::poll!(waits.as_mut()).is_ready());
    answers.add(20_001);
    assert_eq!(answers.excess(), Some(BatchExcess::TooLarge));
    drop((answers, waits));
    hog.written(8_000);
    assert_eq!((address.used()[1], address.of(Side::Known).used_by_batches.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test]
async fn memory_of_anonymous_connections_is_separate_and_moves_at_login() {
    let handler_timeout = Duration::from_millis(10).into();
    let limits = Limits { held_per_address: 800_000, held: 1_600_000, handler_timeout, ..Limits::default() };
    let (address, server) = (Divided::of_address(&limits, true), Divided::of_server(&limits, true));
    let anonymous = ConnectionMemory::open(&limits, &address, &server, false);
    let mut request = RequestReservation::of(&anonymous);
    assert!(request.grow(90_000).await && !request.grow(20_000).await, "an eighth is theirs");
    anonymous.made(50_000);
    assert!(!anonymous.accepts(false));
    let known = ConnectionMemory::open(&limits, &address, &server, false);
    known.set_known(true);
    let mut large = RequestReservation::of(&known);
    assert!(known.has_room(false) && large.grow(600_000).await, "the rest is");
    // After a login on a connection its caller is known, but its earlier bytes stay on the side where they were counted.
    anonymous.set_known(true);
    let batch = BatchAnswers::new(Arc::clone(&anonymous), 20_000);
    batch.add(1_000);
    anonymous.made(2_000);
    assert_eq!(address.used(), [140_000, 603_000]);
    assert_eq!((batch.send(), anonymous.unsent()), (1_000, 53_000));
    anonymous.written(50_500);
    assert_eq!((anonymous.unsent(), address.used()), (2_500, [90_000, 602_500]));
    drop((request, large, batch, anonymous, known));
    assert_eq!((address.used(), server.used()), ([0, 0], [0, 0]));
}

#[tokio::test]
async fn a_request_that_stalls_makes_way_for_others_and_one_that_comes_does_not() {
    let limits = Limits { held: 400_000, ..Limits::default() };
    let (address, server, stalls) = connection(&limits);
    let comes = ConnectionMemory::open(&limits, &address, &server, true);
    let waits = ConnectionMemory::open(&limits, &address, &server, true);
    let long = Duration::from_secs(60);
    let (mut stalled, mut coming) = (Arrival::begin(&stalls, long), Arrival::begin(&comes, long));
    let [mut first, mut second, mut third] = [&stalls, &comes, &waits].map(RequestReservation::of);
    assert!(stalled.keep(150_000, &mut first).await && coming.keep(200_000, &mut second).await);
    let mut room = std::pin::pin!(third.grow(100_000));
    let goes_on = async {
        loop {
            tokio::time::sleep(STUCK_AFTER / 10).await;
            coming.came(64 * 1024);
        }
    };
    tokio::select! {
        _ = &mut room => panic!("there was none"),
        () = stalls.ended() => {}
        () = comes.ended() => panic!("it has come"),
        () = goes_on => {}
    }
    drop((stalled, first));
    assert!(room.await);
}

#[tokio::test]
async fn of_requests_that_have_all_room_in_parts_and_wait_for_each_other_the_largest_gives_up() {
    let handler_timeout = Duration::from_secs(600).into();
    let limits = Limits { held_per_address: 1_000_000, held: 1_000_000, handler_timeout, ..Limits::default() };
    let (address, server, first) = connection(&limits);
    let connections =
        [first, ConnectionMemory::open(&limits, &address, &server, true), ConnectionMemory::open(&limits, &address, &server, true)];
    let mut requests: Vec<_> = connections.iter().map(RequestReservation::of).collect();
    for (request, bytes) in requests.iter_mut().zip([400_000, 350_000, 240_000]) {
        assert!(request.grow(bytes).await);
    }
    let mut waiting: FuturesUnordered<_> =
        requests.into_iter().enumerate().map(async |(number, mut request)| (number, request.grow(100_000).await, request)).collect();
    let mut answers = Vec::new();
    // Each finished answer is freed at once, together with its request.
    while let Some((number, has_room, request)) = waiting.next().await {
        answers.push((number, has_room));
        drop(request);
    }
    answers.sort_unstable();
    assert_eq!(answers, [(0, false), (1, true), (2, true)]);
}
