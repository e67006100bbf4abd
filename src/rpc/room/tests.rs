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
    let mut request = first.request();
    assert!(request.grow(60).await && !request.grow(60).await && request.grow(40).await);
    let mut other = second.request();
    assert!(!other.grow(60).await && other.grow(50).await);
    second.made(80);
    assert!(!second.has_room() && server.held.load(Ordering::SeqCst) == 230);
    drop((request, other));
    second.written(30);
    assert!(second.has_room() && second.unsent() == 50);
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
    let mut hogged = hog.request();
    assert!(hogged.grow(200_000).await);
    let other = Account::open(&limits, &Room::of_address(&limits), &server);
    let mut modest = other.request();
    assert!(modest.grow(60_000).await && !modest.grow(60_000).await);
    assert!(!hog.request().grow(1).await, "its own address holds too much");
    drop((hogged, modest));
    assert_eq!(server.held.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn large_answers_are_made_two_at_a_time() {
    let (_address, _server, account) = account(&Limits::default());
    let (first, _second) = (account.admit(Size::Large).await, account.admit(Size::Large).await);
    let third = account.admit(Size::Large);
    tokio::pin!(third);
    assert!(futures_util::poll!(third.as_mut()).is_pending());
    let (here, there) = account.admit(Size::Small).await;
    assert!(here.is_none() && there.is_empty());
    drop(first);
    let (here, there) = third.await;
    assert!(here.is_some() && there.len() == 2);
}
