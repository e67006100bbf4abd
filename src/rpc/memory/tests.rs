use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::*;

fn connection(limits: &Limits) -> (Arc<Budget>, Arc<Budget>, Arc<Connection>) {
    let (address, server) = (Budget::of_address(limits), Budget::of_server(limits));
    let connection = Connection::open(limits, &address, &server);
    (address, server, connection)
}

#[tokio::test]
async fn what_is_in_memory_is_counted_for_connection_address_and_server_and_freed() {
    let handler_timeout = Duration::from_millis(10).into();
    let limits = Limits { held_per_connection: 101, held_per_address: 151, held: 201, handler_timeout, ..Limits::default() };
    let (address, server, first) = connection(&limits);
    let second = Connection::open(&limits, &address, &server);
    let mut request = RequestReservation::of(&first);
    assert!(request.grow(60).await && !request.grow(60).await && request.grow(40).await);
    let mut other = RequestReservation::of(&second);
    assert!(!other.grow(60).await && other.grow(50).await);
    second.made(80);
    assert!(!second.has_room(false) && server.used.load(Ordering::SeqCst) == 230);
    drop((request, other));
    second.written(30);
    assert!(second.has_room(false) && second.unsent() == 50);
    second.written(1000);
    assert_eq!(second.unsent(), 0);
    second.made(70);
    drop(second);
    assert_eq!((address.used.load(Ordering::SeqCst), server.used.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test]
async fn what_others_use_keeps_only_large_requests_out() {
    let handler_timeout = Duration::from_millis(10).into();
    let limits = Limits { held_per_address: 200_001, held: 200_001, handler_timeout, ..Limits::default() };
    let (_address, server, hog) = connection(&limits);
    let mut hogged = RequestReservation::of(&hog);
    assert!(hogged.grow(200_000).await);
    let other = Connection::open(&limits, &Budget::of_address(&limits), &server);
    let mut small = RequestReservation::of(&other);
    assert!(small.grow(60_000).await && !small.grow(60_000).await);
    assert!(!RequestReservation::of(&hog).grow(1).await, "its own address uses too much");
    let of_address = Connection::open(&limits, &hog.budgets[1], &server);
    let mut tiny = RequestReservation::of(&of_address);
    assert!(tiny.grow(16_000).await && !tiny.grow(1_000).await, "it does, but this connection next to nothing");
    drop(tiny);
    drop((hogged, small));
    assert_eq!(server.used.load(Ordering::SeqCst), 0);
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
    let others: Vec<_> = (0..8).map(|_| Connection::open(&limits, &address, &Budget::of_server(&limits))).collect();
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
    let other = Connection::open(&limits, &address, &server);
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
    assert_eq!((address.used.load(Ordering::SeqCst), address.used_by_batches.load(Ordering::SeqCst)), (0, 0));
}
