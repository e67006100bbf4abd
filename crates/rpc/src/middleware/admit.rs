use std::future::{Future, ready};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::Either;
use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::{Answer, Error, Rules, refuse};
use crate::jsonrpc::entry::{Counted, Notified};
use crate::memory::{AnswerReservations, BatchAnswers, ConnectionMemory, RequestReservation, Size};
use crate::session::auth::Session;

/// Makes calls wait until there is room for their answers, and counts the answers.
pub(crate) struct Admit<S> {
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
        let connection = Arc::clone(session.connection());
        let batch = request.extensions().get::<Arc<BatchAnswers>>().cloned();
        let size = self.rules.find(&request.method).map_or(Size::Small, |entry| entry.size);
        let is_notified = request.extensions().get::<Notified>().is_some();
        if is_notified && size == Size::Small {
            return Either::Left(Either::Right(self.inner.call(request)));
        }
        if size == Size::Small && connection.has_room(batch.is_some()) {
            let answer = self.inner.call(request);
            return Either::Right(Either::Left(async move { count(&connection, batch.as_deref(), answer.await) }));
        }
        let (inner, time_limit) = (Arc::clone(&self.inner), self.rules.limits.handler_timeout.duration());
        // While the call waits, its parameters stay in memory, so they stay reserved.
        let reservation = request.extensions().get::<Weak<RequestReservation>>().and_then(Weak::upgrade);
        Either::Right(Either::Right(async move {
            // A notification has no answer, so it does not wait until its client reads.
            let admitted = if is_notified {
                timeout(time_limit, connection.admit(size, false)).await
            } else {
                admit(&connection, size, time_limit, batch.is_some()).await
            };
            drop(reservation);
            let Ok(_reservations) = admitted else {
                return refuse(request.id, Error::no_room());
            };
            if is_notified {
                return inner.call(request).await;
            }
            count(&connection, batch.as_deref(), inner.call(request).await)
        }))
    }
}

/// Waits until a call may begin. The wait for room in the budget of its own connection has no deadline, because it depends only on its
/// client.
async fn admit(connection: &ConnectionMemory, size: Size, time_limit: Duration, in_batch: bool) -> Result<AnswerReservations, Elapsed> {
    // The answers of a batch are sent together, so its calls could wait for each other for ever.
    if in_batch {
        return timeout(time_limit, connection.admit(size, true)).await;
    }
    let mut reservations = connection.admit_here(size, false).await;
    reservations.extend(timeout(time_limit, connection.admit_there(size, false)).await?);
    Ok(reservations)
}

fn count(connection: &ConnectionMemory, batch: Option<&BatchAnswers>, mut response: MethodResponse) -> MethodResponse {
    // The answer to a subscribe call is already on its way, and is short.
    if !response.is_subscription() {
        let bytes = response.as_json().get().len();
        if let Some(batch) = batch {
            batch.add(bytes);
        } else {
            connection.made(bytes);
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
    use crate::connection::addresses::Addresses;
    use crate::connection::anonymous::TrackedConnection;
    use crate::limits::Limits;
    use crate::session::access::Access;
    use crate::table::Table;
    use hero_audit::Audit;

    /// A service that answers at once.
    struct Answered;

    impl Answer for Answered {
        fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a> {
            ready(MethodResponse::response(request.id, ResponsePayload::success(1), 100))
        }
    }

    #[tokio::test]
    async fn a_call_that_waits_for_memory_keeps_its_reservation() {
        let limits = Limits { held_per_connection: 1000, ..Limits::default() };
        let addresses = Addresses::new(limits.clone(), false);
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let share = addresses.join(peer.ip(), 0).unwrap();
        let connection = addresses.connection(&share);
        let mut reservation = RequestReservation::of(&connection);
        assert!(reservation.grow(500).await);
        connection.made(600);
        let reservation = Arc::new(reservation);
        let mut request = Request::borrowed("any", None, Id::Number(1));
        let tracked = TrackedConnection::new(&Arc::default(), peer.ip(), connection.closing(), true);
        let session = Session::new(peer, peer, (share, tracked), Arc::clone(&connection), false, TaskTracker::new().token());
        request.extensions_mut().insert(Arc::new(session));
        request.extensions_mut().insert(Arc::downgrade(&reservation));
        let admit = Admit::new(Answered, Arc::new(Rules::new(&Table::<()>::new(), limits, Access::Open, Audit::default())));
        let answer = admit.call(request);
        tokio::pin!(answer);
        assert!(futures_util::poll!(answer.as_mut()).is_pending());
        // The reader of the request drops its reservation after a while.
        let seen = Arc::downgrade(&reservation);
        drop(reservation);
        assert_eq!(seen.strong_count(), 1);
        connection.written(600);
        assert!(answer.await.is_success());
        assert_eq!(seen.strong_count(), 0);
    }
}
