use serde::Serialize;

use super::connection::Client;
use hero_model::{FlowSpec, JobSpec, ScheduleSpec};

/// A request that creates something, with a key so that it is created only once, however often it is sent.
#[derive(Serialize)]
pub(super) struct Keyed<'a, T> {
    #[serde(flatten)]
    pub(super) spec: &'a T,
    /// Only set if the caller has given none.
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<String>,
}

/// A specification that may have an idempotency key.
pub(super) trait Keyable {
    fn key(&self) -> Option<&String>;
}

impl Keyable for JobSpec {
    fn key(&self) -> Option<&String> {
        self.idempotency_key.as_ref()
    }
}

impl Keyable for FlowSpec {
    fn key(&self) -> Option<&String> {
        self.idempotency_key.as_ref()
    }
}

impl Keyable for ScheduleSpec {
    fn key(&self) -> Option<&String> {
        self.idempotency_key.as_ref()
    }
}

impl Client {
    pub(super) fn keyed<'a, T: Keyable>(&self, spec: &'a T) -> Keyed<'a, T> {
        Keyed { spec, idempotency_key: self.key(spec.key()) }
    }
}
