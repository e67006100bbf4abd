//! The middleware that every call passes, from the outside in.
//!
//! Only [`FanOut`] knows batches: it splits them into single calls, so no middleware can be bypassed by wrapping a call in `[…]`.

mod admit;
mod authorize;
mod catch_panic;
mod deadline;
mod fan_out;
mod invoke;
mod measure;
mod throttle;

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use jsonrpsee::server::MethodResponse;
use jsonrpsee::server::middleware::rpc::Request;
use jsonrpsee::types::Id;

use super::error::Error;
use super::limits::Limits;
use super::memory::Size;
use super::method::Kind;
use super::table::Table;
use crate::session::access::Access;
use crate::session::auth::Permission;
use crate::table::invoker::MethodInvoker;
use admit::Admit;
use authorize::Authorize;
use catch_panic::CatchPanic;
use deadline::Deadline;
use fan_out::FanOut;
use hero_audit::Audit;
use invoke::Invoke;
use measure::{Measure, Measurements};
use throttle::Throttle;
pub(super) use throttle::pass;

/// A service that answers single calls.
pub(crate) trait Answer: Send + Sync + 'static {
    /// Returns the answer. The future does not borrow `self`, because a connection makes many calls at once.
    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + use<'a, Self>;
}

/// The properties of a method that the middleware use.
struct Rule {
    kind: Kind,
    permission: Permission,
    size: Size,
    measurements: Measurements,
}

/// The state that the middleware of all connections share.
pub(crate) struct Rules {
    entries: HashMap<&'static str, Arc<Rule>>,
    unknown: Arc<Rule>,
    limits: Limits,
    access: Access,
    audit: Audit,
}

impl Rules {
    /// Returns the rules for the methods of `table`.
    pub(super) fn new<C: Send + Sync + 'static>(table: &Table<C>, limits: Limits, access: Access, audit: Audit) -> Self {
        let entry = |name, kind, permission, size| Arc::new(Rule { kind, permission, size, measurements: Measurements::new(name) });
        Self {
            entries: table.entries().map(|(name, kind, permission, size)| (name, entry(name, kind, permission, size))).collect(),
            unknown: entry("unknown", Kind::Call, Permission::Public, Size::Small),
            limits,
            access,
            audit,
        }
    }

    /// Returns the name of a method from the table.
    fn name(&self, method: &str) -> Option<&'static str> {
        self.entries.get_key_value(method).map(|(name, _)| *name)
    }

    fn find(&self, method: &str) -> Option<&Arc<Rule>> {
        self.entries.get(method)
    }
}

/// All middleware, from the outside in.
pub(crate) type Middleware = FanOut<CatchPanic<Measure<Throttle<Authorize<Admit<Deadline<Invoke>>>>>>>;

/// Wraps an invoker of methods in the middleware.
pub(super) fn middleware(rules: &Arc<Rules>, invoker: MethodInvoker) -> Middleware {
    let rules = || Arc::clone(rules);
    let deadline = Deadline::new(Invoke::new(invoker, rules()), rules());
    let throttle = Throttle::new(Authorize::new(Admit::new(deadline, rules()), rules()), rules());
    FanOut::new(CatchPanic::new(Measure::new(throttle, rules())), rules())
}

fn refuse(id: Id<'_>, error: Error) -> MethodResponse {
    MethodResponse::error(id, error.into_object())
}
