use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::*;

fn account(limits: &Limits) -> (Arc<Room>, Arc<Room>, Arc<Account>) {
    let (address, server) = (Room::of_address(limits), Room::of_server(limits));
    let account = Account::open(limits, &address, &server);
    (address, server, account)
}

#[tokio::test]
async fn what_is_held_is_counted_for_connection_address_and_server_and_given_back() {
    let handler_timeout = Duration::from_millis(10).into();
    let limits = Limits { held_per_connection: 101, held_per_address: 151, held: 201, handler_timeout, ..Limits::default() };
    let (address, server, first) = account(&limits);
    let second = Account::open(&limits, &address, &server);
    let mut request = Held::of(&first);
    assert!(request.grow(60).await && !request.grow(60).await && request.grow(40).await);
    let mut other = Held::of(&second);
    assert!(!other.grow(60).await && other.grow(50).await);
    second.made(80);
    assert!(!second.has_room(false) && server.held.load(Ordering::SeqCst) == 230);
    drop((request, other));
    second.written(30);
    assert!(second.has_room(false) && second.unsent() == 50);
    second.written(1000);
    assert_eq!(second.unsent(), 0);
    second.made(70);
    drop(second);
    assert_eq!((address.held.load(Ordering::SeqCst), server.held.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test]
async fn what_others_hold_keeps_only_large_requests_out() {
    let handler_timeout = Duration::from_millis(10).into();
    let limits = Limits { held_per_address: 200_001, held: 200_001, handler_timeout, ..Limits::default() };
    let (_address, server, hog) = account(&limits);
    let mut hogged = Held::of(&hog);
    assert!(hogged.grow(200_000).await);
    let other = Account::open(&limits, &Room::of_address(&limits), &server);
    let mut modest = Held::of(&other);
    assert!(modest.grow(60_000).await && !modest.grow(60_000).await);
    assert!(!Held::of(&hog).grow(1).await, "its own address holds too much");
    let of_address = Account::open(&limits, &hog.rooms[1], &server);
    let mut slight = Held::of(&of_address);
    assert!(slight.grow(16_000).await && !slight.grow(1_000).await, "it does, but this connection next to nothing");
    drop(slight);
    drop((hogged, modest));
    assert_eq!(server.held.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn large_answers_are_made_two_at_a_time() {
    let (_address, _server, account) = account(&Limits::default());
    let (first, _second) = (account.admit(Size::Large, false).await, account.admit(Size::Large, false).await);
    let third = account.admit(Size::Large, false);
    tokio::pin!(third);
    assert!(futures_util::poll!(third.as_mut()).is_pending());
    assert!(account.admit(Size::Small, false).await.is_empty());
    drop(first);
    assert_eq!(third.await.len(), 3);
}

#[tokio::test]
async fn the_first_free_byte_lets_one_begin_and_not_everybody() {
    // Each estimate is a 16th of the room.
    let limits = Limits { held_per_address: 16_000, ..Limits::default() };
    let (address, _server, reader) = account(&limits);
    reader.made(16_000);
    let others: Vec<_> = (0..8).map(|_| Account::open(&limits, &address, &Room::of_server(&limits))).collect();
    let mut calls: FuturesUnordered<_> = others.iter().map(|other| other.admit(Size::Medium, false)).collect();
    assert!(calls.next().now_or_never().is_none());
    reader.written(1);
    let first = calls.next().now_or_never();
    assert!(first.is_some() && calls.next().now_or_never().is_none(), "a byte is room for one");
    drop(first);
    assert!(calls.next().now_or_never().is_some());
}

#[tokio::test]
async fn parts_of_batches_leave_half_of_a_room_to_others_and_are_no_slow_reader() {
    let limits = Limits { held_per_address: 16_000, ..Limits::default() };
    let (address, server, hog) = account(&limits);
    let other = Account::open(&limits, &address, &server);
    let parts = Parts::new(Arc::clone(&hog), 20_000);
    parts.add(8_000);
    assert_eq!((parts.surplus(), hog.unsent()), (None, 0));
    assert!(other.has_room(true), "who holds little need not wait for small answers");
    assert!(!other.is_open(true) && other.is_open(false));
    let mut waits = Box::pin(other.admit(Size::Medium, true));
    assert!(futures_util::poll!(waits.as_mut()).is_pending());
    assert_eq!((parts.send(), hog.unsent()), (8_000, 8_000));
    assert!(futures_util::poll!(waits.as_mut()).is_ready());
    parts.add(20_001);
    assert_eq!(parts.surplus(), Some(Surplus::TooLarge));
    drop((parts, waits));
    hog.written(8_000);
    assert_eq!((address.held.load(Ordering::SeqCst), address.parts.load(Ordering::SeqCst)), (0, 0));
}
