#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod app;
mod connection;
mod destination;
mod effect;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod gzip_text;
mod http;
mod jsonrpc;
mod limits;
mod memory;
mod method;
pub mod methods;
mod middleware;
mod openrpc;
mod params;
mod server;
mod session;
mod table;
mod websocket;

use std::sync::LazyLock;

pub use app::{App, Drain, PoolDetails, Probes, Readiness, ServerDetails, ServerInfo};
pub use effect::Effect;
pub use error::Error;
pub use hero_model::api::Code;
pub use http::{Assistants, Visit};
#[doc(hidden)]
pub use jsonrpc::request_id::LONGEST_ID;
pub use limits::Limits;
pub use memory::{BatchAnswers, Size};
pub use method::{Example, Items, Kind, Method, Subscription, Within};
pub use params::FromParameters;
#[doc(hidden)]
pub use params::read_as_parameter;
pub use server::serve_error::ServeError;
pub use server::tls::{Tls, TlsError};
pub use server::{ServerSettings, Serving, serve, serve_table, try_listen};
pub use session::access::Access;
pub use session::act::{Act, object};
pub use session::auth::{Permission, Principal, Session};
pub use session::guard::{Concern, Guard};
pub use table::Table;

use methods::{
    actor, context, flow, identity, job, login, message as messages, object, queue, rights, runner, schedule, script, server as this, token,
};

/// The name of the program in all of its interfaces.
pub const NAME: &str = "hero";

/// Returns every method and subscription, in document order.
pub fn table() -> Table {
    Table::new()
        .method::<job::CreateJob>()
        .method::<job::CreateJobs>()
        .method::<job::StartJob>()
        .method::<job::RunAndWait>()
        .method::<job::WaitJob>()
        .method::<job::StopJob>()
        .method::<job::RetryJob>()
        .method::<job::GetStatus>()
        .method::<job::GetJob>()
        .method::<job::GetResult>()
        .method::<job::GetLogs>()
        .method::<job::ListJobs>()
        .method::<job::NumberJob>()
        .method::<job::DeleteJob>()
        .method::<job::ExplainJob>()
        .method::<flow::CreateFlow>()
        .method::<flow::RunFlowAndWait>()
        .method::<flow::StartFlow>()
        .method::<flow::WaitFlow>()
        .method::<flow::GetFlow>()
        .method::<flow::ListFlows>()
        .method::<flow::StopFlow>()
        .method::<flow::RetryFlow>()
        .method::<flow::DeleteFlow>()
        .method::<schedule::CreateSchedule>()
        .method::<schedule::ListSchedules>()
        .method::<schedule::DeleteSchedule>()
        .method::<object::SetObject>()
        .method::<object::GetObject>()
        .method::<object::FindObjects>()
        .method::<object::DeleteObject>()
        .method::<object::ListCollections>()
        .method::<object::DropCollection>()
        .method::<identity::CreateIdentity>()
        .method::<identity::UpdateIdentity>()
        .method::<identity::GetIdentity>()
        .method::<identity::ListIdentities>()
        .method::<identity::DeleteIdentity>()
        .method::<identity::Whoami>()
        .method::<login::FetchNonce>()
        .method::<login::Authenticate>()
        .method::<token::CreateToken>()
        .method::<login::PresentToken>()
        .method::<token::ListTokens>()
        .method::<token::RevokeToken>()
        .method::<context::CreateContext>()
        .method::<context::UpdateContext>()
        .method::<context::GetContext>()
        .method::<context::ListContexts>()
        .method::<context::DeleteContext>()
        .method::<rights::Grant>()
        .method::<rights::Revoke>()
        .method::<runner::CreateRunner>()
        .method::<runner::UpdateRunner>()
        .method::<runner::GetRunner>()
        .method::<runner::ListRunners>()
        .method::<runner::DeleteRunner>()
        .method::<messages::SendMessage>()
        .method::<messages::PingNode>()
        .method::<messages::GetMessage>()
        .method::<messages::ListMessages>()
        .method::<messages::AcknowledgeMessage>()
        .method::<messages::DeleteMessage>()
        .method::<actor::ListActors>()
        .method::<script::ListFunctions>()
        .method::<script::CheckScript>()
        .method::<queue::ListQueues>()
        .method::<queue::PauseQueue>()
        .method::<queue::ResumeQueue>()
        .method::<this::ServerInfo>()
        .method::<this::Ping>()
        .subscription::<job::SubscribeJob>()
        .subscription::<flow::SubscribeFlow>()
        .subscription::<job::SubscribeEvents>()
        .subscription::<job::SubscribeLogs>()
        // No call follows it.
        .method::<this::DrainServer>()
}

/// Returns the OpenRPC document of `table`, for `rpc.discover`, `GET /openrpc.json` and `hero openrpc`.
pub fn document() -> &'static str {
    static DOCUMENT: LazyLock<String> = LazyLock::new(|| table().document());
    &DOCUMENT
}

/// Returns the methods of which the audit log has every call. Of others it has the refused calls.
pub fn audited() -> Vec<&'static str> {
    table().audited().collect()
}

/// Returns the methods that may be repeated without a check, as text for `docs/json-rpc.md`.
pub fn repeatable() -> String {
    table().repeatable()
}

/// Returns the permissions of each method, as text for `docs/permissions.md`.
pub fn permissions() -> String {
    table().permissions()
}

/// The gauge of open connections.
const CONNECTIONS: &str = "hero_rpc_connections";
