use serde::Serialize;

use super::connection::Client;
use hero_model::{FlowSpec, JobSpec, ScheduleSpec};

/// What makes something, with a key that has it made once however often it is sent.
#[derive(Serialize)]
pub(super) struct Keyed<'a, T> {
    #[serde(flatten)]
    pub(super) spec: &'a T,
    /// Only if the caller has given none.
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<String>,
}

/// What may have a key.
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
