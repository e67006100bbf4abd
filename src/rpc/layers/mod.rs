//! What every call passes, from the outside in.
//!
//! Only [`FanOut`] knows batches: it turns them into single calls, so no layer can be passed by wrapping a call in `[…]`.

mod authorize;
mod catch_panic;
mod deadline;
mod dispatch;
mod fan_out;
mod measure;
mod throttle;

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::{Request, RpcService};
use jsonrpsee::types::Id;
use tower::Layer;

use super::auth::{Access, Permission};
use super::error::Error;
use super::limits::Limits;
use super::table::{Kind, Table};
use authorize::Authorize;
use catch_panic::CatchPanic;
use deadline::Deadline;
use dispatch::Dispatch;
use fan_out::FanOut;
pub(super) use fan_out::{NoContent, OverHttp};
use measure::{Measure, Measurements};
use throttle::Throttle;

/// Something that answers a single call.
pub(in crate::rpc) trait Answer: Send + Sync + 'static {
    /// The answer, which does not borrow `self`: a connection makes many calls at once.
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a, Self>;
}

/// What the layers know of a method.
struct Entry {
    kind: Kind,
    permission: Permission,
    measurements: Measurements,
}

/// What the layers of all connections share.
pub(in crate::rpc) struct Rules {
    entries: HashMap<&'static str, Arc<Entry>>,
    unknown: Arc<Entry>,
    limits: Limits,
    access: Access,
}

impl Rules {
    /// The rules for the methods of `table`.
    pub(super) fn new<C: Send + Sync + 'static>(table: &Table<C>, limits: Limits, access: Access) -> Self {
        let entry = |name, kind, permission| Arc::new(Entry { kind, permission, measurements: Measurements::new(name) });
        Self {
            entries: table.entries().map(|(name, kind, permission)| (name, entry(name, kind, permission))).collect(),
            unknown: entry("unknown", Kind::Call, Permission::Public),
            limits,
            access,
        }
    }

    fn find(&self, method: &str) -> Option<&Arc<Entry>> {
        self.entries.get(method)
    }
}

/// The whole way of a call, from the outside in.
type Way = FanOut<CatchPanic<Measure<Throttle<Authorize<Deadline<Dispatch>>>>>>;

/// Puts the layers round the service of a connection.
#[derive(Clone)]
pub(in crate::rpc) struct Layers(pub(super) Arc<Rules>);

impl Layer<RpcService> for Layers {
    type Service = Way;

    fn layer(&self, service: RpcService) -> Way {
        let rules = || Arc::clone(&self.0);
        let deadline = Deadline::new(Dispatch::new(service, rules()), rules());
        let throttle = Throttle::new(Authorize::new(deadline, rules()), rules());
        FanOut::new(CatchPanic::new(Measure::new(throttle, rules())), rules())
    }
}

fn refuse(id: Id<'_>, error: Error) -> MethodResponse {
    MethodResponse::error(id, error.into_object())
}
