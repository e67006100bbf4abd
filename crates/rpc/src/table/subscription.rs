use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use jsonrpsee::core::SubscriptionError;
use jsonrpsee::server::{
    PendingSubscriptionSink, RegisterMethodError, RpcModule, SendTimeoutError, SubscriptionCloseResponse, SubscriptionSink,
};
use serde::Serialize;

use crate::connection::addresses::Permit;
use crate::error::Error;
use crate::limits::Limits;
use crate::memory::ConnectionMemory;
use crate::method::{Items, Subscription};
use crate::session::access::Access;
use crate::session::act;
use crate::session::auth::{AddressSubscriptions, Session};
use crate::{openrpc, params};
use hero_audit::Audit;

/// The limits of subscriptions.
#[derive(Clone, Copy)]
struct SubscriptionLimits {
    open: Duration,
    send: Duration,
    per_address: u32,
}

/// Registers `S` in `module`, with the method that ends it.
pub(crate) fn register<C: Send + Sync + 'static, S: Subscription<C>>(
    module: &mut RpcModule<C>,
    limits: &Limits,
    access: &Access,
    audit: &Audit,
) -> Result<(), RegisterMethodError> {
    let (access, audit) = (access.clone(), audit.clone());
    let names: Arc<params::Names> = openrpc::parameter_names(S::json_schema, &[]).into();
    let limits = SubscriptionLimits {
        open: limits.handler_timeout.duration(),
        send: limits.send_timeout.duration(),
        per_address: limits.subscriptions_per_address,
    };
    let callback =
        move |raw: jsonrpsee::types::Params<'static>, pending: PendingSubscriptionSink, app: Arc<C>, extensions: http::Extensions| {
            let parsed = params::parse::<S>(raw.as_str(), &names);
            // The rights to its objects are checked again when rights change.
            let kept = if access.is_open() { None } else { params::parse::<S>(raw.as_str(), &names).ok() };
            let session = extensions.get::<Arc<Session>>().map(Arc::clone);
            let (access, audit) = (access.clone(), audit.clone());
            async move {
                let life = AssertUnwindSafe(run((parsed, kept), pending, app, session, (&access, &audit), limits));
                match life.catch_unwind().await {
                    Ok(end) => end,
                    Err(_) => {
                        tracing::error!(method = S::NAME, "a subscription panicked");
                        ended(Error::Internal)
                    }
                }
            }
        };
    module.register_subscription(S::NAME, S::NOTIFICATION, S::UNSUBSCRIBE, callback).map(drop)
}

/// Runs a subscription: answers the call, then sends items until either side ends it.
async fn run<C: Send + Sync, S: Subscription<C>>(
    (parsed, kept): (Result<S, Error>, Option<S>),
    pending: PendingSubscriptionSink,
    app: Arc<C>,
    session: Option<Arc<Session>>,
    (access, audit): (&Access, &Audit),
    limits: SubscriptionLimits,
) -> SubscriptionCloseResponse {
    let opened = async {
        let (subscription, session) = (parsed?, session.ok_or(Error::Internal)?);
        let concern = subscription.concern();
        let changes = access.changes(&session);
        let allowed = access.allow(&session, S::PERMISSION, &concern).await;
        allowed.inspect_err(|error| act::refused((access, audit), &session, S::NAME, Some((&concern, act::named(&concern))), error))?;
        let what = format!("more than {} subscriptions from your address (a fixed limit)", limits.per_address).into();
        let busy = Error::Busy { what, retry_after: Duration::from_secs(1) };
        let permit = Permit::take(AddressSubscriptions(Arc::clone(&session)), limits.per_address).ok_or(busy)?;
        let items = tokio::time::timeout(limits.open, subscription.open(&app, &session)).await;
        Ok::<_, Error>((items.map_err(|_| Error::Deadline(limits.open))??, permit, session, changes))
    };
    let (items, _permit, session, changes) = match opened.await {
        Ok(opened) => opened,
        Err(error) => {
            pending.reject(error.into_object()).await;
            return SubscriptionCloseResponse::None;
        }
    };
    let Ok(sink) = pending.accept().await else { return SubscriptionCloseResponse::None };
    let revoked = async {
        match &kept {
            Some(kept) => access.revoked(&session, S::PERMISSION, &kept.concern(), changes).await,
            None => std::future::pending().await,
        }
    };
    match pump(items, &sink, S::NOTIFICATION, session.connection(), limits.send, revoked).await {
        Ok(()) => SubscriptionCloseResponse::None,
        Err(error) => ended(error),
    }
}

/// Sends items until they end, the client disconnects or reads too slowly, or `revoked` returns the reason why the caller may not have them
/// any more.
///
/// At most one item is on its way from here, and it goes no further after a revocation. The stream must bound the items that wait for a
/// slow reader, and report lost ones.
async fn pump<T: Serialize>(
    mut items: Items<T>,
    sink: &SubscriptionSink,
    name: &str,
    connection: &ConnectionMemory,
    time_limit: Duration,
    revoked: impl Future<Output = Error>,
) -> Result<(), Error> {
    tokio::pin!(revoked);
    loop {
        let item = tokio::select! {
            biased;
            () = sink.closed() => return Ok(()),
            error = &mut revoked => return Err(error),
            item = items.next() => match item {
                Some(item) => item?,
                None => return Ok(()),
            },
        };
        let item = serde_json::value::to_raw_value(&item).map_err(|error| {
            tracing::error!(%error, name, "an item cannot be written as JSON");
            Error::Internal
        })?;
        let bytes = item.get().len();
        tokio::select! {
            biased;
            () = sink.closed() => return Ok(()),
            error = &mut revoked => return Err(error),
            in_time = connection.admit_item(time_limit) => if !in_time {
                return Err(Error::Slow);
            },
        }
        connection.made(bytes);
        let end = tokio::select! {
            biased;
            error = &mut revoked => Err(error),
            sent = sink.send_timeout(item, time_limit) => match sent {
                Ok(()) => continue,
                Err(SendTimeoutError::Timeout(_)) => Err(Error::Slow),
                Err(SendTimeoutError::Closed(_)) => Ok(()),
            },
        };
        connection.dropped(bytes);
        return end;
    }
}

/// Returns the last notification of a subscription that ends with an error: the same object as in a response.
fn ended(error: Error) -> SubscriptionCloseResponse {
    let object = serde_json::value::to_raw_value(&error.into_object()).expect("an error object can be written");
    SubscriptionCloseResponse::NotifErr(SubscriptionError::from_json(object))
}
