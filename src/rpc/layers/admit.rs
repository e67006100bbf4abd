use std::future::{Future, ready};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::Either;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::{Answer, Error, Rules, refuse};
use crate::rpc::auth::Session;
use crate::rpc::entry::{Counted, Notified};
use crate::rpc::room::{Account, Held, Parts, Permits, Size};

/// Lets calls wait until there is room for their answers, and counts the answers.
pub(in crate::rpc) struct Admit<S> {
    inner: Arc<S>,
    rules: Arc<Rules>,
}

impl<S: Answer> Admit<S> {
    pub(super) fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self { inner: Arc::new(inner), rules }
    }
}

impl<S: Answer> Answer for Admit<S> {
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a, S> {
        let Some(session) = request.extensions().get::<Arc<Session>>() else {
            return Either::Left(Either::Left(ready(refuse(request.id, Error::Internal))));
        };
        let account = Arc::clone(session.account());
        let parts = request.extensions().get::<Arc<Parts>>().cloned();
        let size = self.rules.find(&request.method).map_or(Size::Small, |entry| entry.size);
        let is_notified = request.extensions().get::<Notified>().is_some();
        if is_notified && size == Size::Small {
            return Either::Left(Either::Right(self.inner.call(request)));
        }
        if size == Size::Small && account.has_room(parts.is_some()) {
            let answer = self.inner.call(request);
            return Either::Right(Either::Left(async move { count(&account, parts.as_deref(), answer.await) }));
        }
        let (inner, patience) = (Arc::clone(&self.inner), self.rules.limits.handler_timeout.duration());
        // As long as it waits it has its parameters, and they are counted.
        let held = request.extensions().get::<Weak<Held>>().and_then(Weak::upgrade);
        Either::Right(Either::Right(async move {
            // A notification has no reader who would decide how long it waits, and nothing is sent for it.
            let admitted = if is_notified {
                timeout(patience, account.admit(size, false)).await
            } else {
                admit(&account, size, patience, parts.is_some()).await
            };
            drop(held);
            let Ok(_permits) = admitted else {
                return refuse(request.id, Error::no_room());
            };
            if is_notified {
                return inner.call(request).await;
            }
            count(&account, parts.as_deref(), inner.call(request).await)
        }))
    }
}

/// Waits until a call may begin: without a deadline for what its own connection holds, as its reader decides about that.
async fn admit(account: &Account, size: Size, patience: Duration, in_batch: bool) -> Result<Permits, Elapsed> {
    // The parts of a batch are sent together, so they could wait for each other for ever.
    if in_batch {
        return timeout(patience, account.admit(size, true)).await;
    }
    let mut permits = account.admit_here(size, false).await;
    permits.extend(timeout(patience, account.admit_there(size, false)).await?);
    Ok(permits)
}

fn count(account: &Account, parts: Option<&Parts>, mut response: MethodResponse) -> MethodResponse {
    // The answer to a subscribe call is on its way already, and short.
    if !response.is_subscription() {
        let bytes = response.as_json().get().len();
        if let Some(parts) = parts {
            parts.add(bytes);
        } else {
            account.made(bytes);
            response.extensions_mut().insert(Counted(bytes));
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use jsonrpsee::server::ResponsePayload;
    use jsonrpsee::types::Id;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::rpc::addresses::Addresses;
    use crate::rpc::auth::Access;
    use crate::rpc::limits::Limits;
    use crate::rpc::table::Table;

    /// Answers at once.
    struct Answered;

    impl Answer for Answered {
        fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a> {
            ready(MethodResponse::response(request.id, ResponsePayload::success(1), 100))
        }
    }

    #[tokio::test]
    async fn what_waits_for_room_is_held_however_long_it_waits() {
        let limits = Limits { held_per_connection: 1000, ..Limits::default() };
        let addresses = Addresses::new(limits.clone());
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let share = addresses.join(peer.ip()).unwrap();
        let account = addresses.account(&share);
        let mut held = Held::of(&account);
        assert!(held.grow(500).await);
        account.made(600);
        let held = Arc::new(held);
        let mut request = Request::borrowed("any", None, Id::Number(1));
        let session = Session::new(peer, peer.ip(), share, Arc::clone(&account), TaskTracker::new().token());
        request.extensions_mut().insert(Arc::new(session));
        request.extensions_mut().insert(Arc::downgrade(&held));
        let admit = Admit::new(Answered, Arc::new(Rules::new(&Table::<()>::new(), limits, Access::Open)));
        let answer = admit.call(request);
        tokio::pin!(answer);
        assert!(futures_util::poll!(answer.as_mut()).is_pending());
        // Whoever read it lets go of it after a while.
        let seen = Arc::downgrade(&held);
        drop(held);
        assert_eq!(seen.strong_count(), 1);
        account.written(600);
        assert!(answer.await.is_success());
        assert_eq!(seen.strong_count(), 0);
    }
}
