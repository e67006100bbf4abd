use std::time::Duration;

use super::create::digest;
use super::unexpected;
use crate::Error;
use crate::library::fcall::{Function, list};
use crate::value::{Text, json};
use crate::views::{Flows, Messages};
use hero_model::{FlowId, FlowSpec, FlowStatus, JobId, JobSpec, RunnerId, Seconds};

const FUNCTION: Function = Function("create_flow");

/// A flow to be created. Its jobs are stored after it, in calls of their own.
#[derive(Debug, Clone)]
pub struct NewFlow<'f> {
    /// Its parameters, without the jobs.
    pub spec: &'f FlowSpec,
    /// The number of its caller; 0 if there is none.
    pub caller: u32,
    /// The caller that creates it.
    pub caller_id: &'f str,
    /// The time for which it is kept after its end.
    pub retention: Seconds,
    /// Its jobs, each after those that it waits for.
    pub jobs: &'f [NewFlowJob],
}

/// A job of a flow to be created.
#[derive(Debug, Clone)]
pub struct NewFlowJob {
    /// Its id.
    pub id: JobId,
    /// Its name.
    pub name: String,
    /// The indexes of the jobs that it waits for, from 0.
    pub waits_for: Vec<usize>,
    /// Its parameters.
    pub spec: JobSpec,
    /// The number of the runner that runs it.
    pub runner: Option<RunnerId>,
}

/// The result of creating a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowCreated {
    /// The flow has this number, and its jobs have these, in order.
    Created(FlowId, Vec<u32>),
    /// More jobs than may be created in a second; there is room after this time. Nothing was done.
    TooFast(Duration),
    /// The limit of flows is reached. Nothing was done.
    Full,
    /// No number is left for the flow, or for one of its jobs. Nothing was done.
    NoNumber,
    /// The idempotency key belongs to this flow with this status, which was created with the same parameters.
    Same(FlowId, FlowStatus),
    /// As before, but another call is still storing the jobs of the flow.
    Making(FlowId),
    /// The idempotency key belongs to this flow, which was created with other parameters.
    Reused(FlowId),
}

impl Flows<'_> {
    /// The most flows of a context, as in `create_flow.lua`.
    pub const MAX_FLOWS: u32 = 100_000;

    /// Creates a flow; its jobs are stored after it. Until [`FlowAction::Stored`](super::FlowAction::Stored) it is being created, for a
    /// minute at most.
    pub async fn create(self, flow: &NewFlow<'_>) -> Result<FlowCreated, Error> {
        let NewFlow { spec, caller, caller_id, retention, jobs } = flow;
        let mut call = self.0.call(&FUNCTION);
        let awaits = if spec.prerequisites.is_empty() { "-" } else { "1" };
        call.arg(*caller).arg(list([awaits, &self.0.bounds.jobs_per_second().to_string(), self.0.look()]));
        call.arg(spec.on_failure.as_str()).arg(whole(*retention)).arg(spec.name.as_deref().unwrap_or_default());
        call.arg(json(&spec.env_vars)).arg(json(&spec.prerequisites)).arg(*caller_id);
        let [key, of_params] = digests(spec, caller_id).unwrap_or_default();
        call.arg(key).arg(of_params);
        call.arg(jobs.len());
        let answer = Messages(self.0).numbered(&call).await?;
        match answer.first().and_then(|word| word.0.as_deref()) {
            Some("full") => return Ok(FlowCreated::Full),
            Some("none" | "later") => return Ok(FlowCreated::NoNumber),
            Some("slow") => return Ok(FlowCreated::TooFast(Duration::from_millis(answer.get(1).and_then(Text::parse).unwrap_or(1000)))),
            _ => {}
        }
        if let Some(known) = known(&answer)? {
            return Ok(known);
        }
        let numbers: Option<Vec<u32>> = answer.iter().map(Text::parse).collect();
        match numbers.as_deref() {
            Some([flow, numbers @ ..]) if numbers.len() == jobs.len() => Ok(FlowCreated::Created(FlowId(*flow), numbers.to_vec())),
            _ => Err(unexpected("create_flow", &answer)),
        }
    }
}

/// For a flow with an idempotency key: the digest under which the key is stored, and a digest of the parameters. A job may have the same
/// key.
pub(super) fn digests(spec: &FlowSpec, caller_id: &str) -> Option<[String; 2]> {
    Some([digest(&["flow", caller_id, spec.idempotency_key.as_ref()?]), digest(&[&json(spec)])])
}

/// Reads the answer of an idempotency key that belongs to a flow; `None` for any other answer.
pub(super) fn known(answer: &[Text]) -> Result<Option<FlowCreated>, Error> {
    let flow = answer.get(1).and_then(Text::parse).map(FlowId);
    let status = answer.get(2).and_then(|word| FlowStatus::parse(word.0.as_deref()?));
    let known = match (answer.first().and_then(|word| word.0.as_deref()), flow, status) {
        (Some("same"), Some(flow), Some(status)) => FlowCreated::Same(flow, status),
        (Some("making"), Some(flow), _) => FlowCreated::Making(flow),
        (Some("reused"), Some(flow), _) => FlowCreated::Reused(flow),
        (Some("same" | "making" | "reused"), ..) => return Err(unexpected("create_flow", &answer)),
        _ => return Ok(None),
    };
    Ok(Some(known))
}

/// Returns a duration in whole seconds, rounded up, in the format of the coordinator's specification.
pub(super) fn whole(seconds: Seconds) -> String {
    let time = seconds.duration();
    let whole = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    whole.min(u64::from(u32::MAX)).to_string()
}
