use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use redis::{Cmd, Pipeline};

use super::Error;
use super::score::Score;
use super::value::{Fields, Text};
use crate::jobs::codec::{SHOWN_OF_FLOW_JOB, flow_job};
use crate::views::Flows;
use hero_model::{FlowId, FlowJob, FlowStatus, FlowSummary, JobId, OnFailure, Timestamp};

/// A flow as it is stored in its hash.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredFlow {
    /// The part that lists show.
    pub summary: FlowSummary,
    /// The effect on the other jobs when one ends in error.
    pub on_failure: OnFailure,
    /// The environment variables that its jobs share.
    pub env_vars: BTreeMap<String, String>,
    /// The number of its caller.
    pub caller: u32,
    /// The numbers of its jobs.
    pub numbers: Vec<u32>,
    /// The results of its jobs.
    pub result: BTreeMap<String, String>,
    /// Whether some results were left out.
    pub left_out: bool,
    /// The time of its last change.
    pub updated_at: Timestamp,
}

/// The state of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowState {
    /// Its status.
    pub status: FlowStatus,
    /// The number of its jobs that have not ended.
    pub open: u32,
}

/// A job of a flow as its own hash describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredFlowJob {
    /// Its number.
    pub number: u32,
    /// Its id.
    pub id: JobId,
    /// Its name.
    pub name: String,
}

/// The fields that lists show of a flow. Other fields may be long.
const HEAD: [&str; 12] =
    ["status", "busy", "name", "caller", "caller_id", "total", "open", "failed", "stopped", "created_at", "started_at", "finished_at"];

/// The fields that are read of a job in the runner layout.
const OF_RUNNER_JOB: [&str; 5] = ["name", "job_id", "prerequisites", "script_type", "runner"];

/// The longest delay before a flow is processed.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// The delay set for flows that seem to wait longer than that, and (below) the most such flows in one round. A server that is creating a
/// flow has this much time as well.
const MENDED_IN: Duration = Duration::from_secs(5);
const MOST_MENDED: usize = 1000;

impl Flows<'_> {
    /// The time for which jobs of an open flow are kept after their ends, because later jobs may need their results.
    pub const JOBS_OF_OPEN_FLOWS_ARE_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

    /// The time for which jobs of a flow wait that nobody starts. Then they are stopped, and the flow ends.
    pub(crate) const UNSTARTED_FLOWS_WAIT: Duration = Duration::from_secs(7 * 24 * 3600);

    /// Returns the flow with this number, if there is one that is not being created or deleted just now.
    pub async fn get(self, id: FlowId) -> Result<Option<StoredFlow>, Error> {
        Ok(stored(id, &self.0.hash(&self.0.keys.flow(id)).await?))
    }

    /// Returns the caller that created a flow; an empty text if the flow names none, and nothing if there is no such flow.
    pub async fn caller(self, id: FlowId) -> Result<Option<String>, Error> {
        let key = self.0.keys.flow(id);
        let mut pipeline = Pipeline::with_capacity(3);
        pipeline.cmd("EXISTS").arg(&key).cmd("HGET").arg(&key).arg("caller").cmd("HGET").arg(&key).arg("caller_id");
        let read: Vec<Text> = self.0.each_whole(&[key.clone(), key.clone(), key], &mut pipeline).await?;
        let [exists, caller, number] = <[Text; 3]>::try_from(read).map_err(|_| Error::Closed)?;
        // The same caller that lists show: other programs write only the number.
        let maker = || caller.some().or_else(|| number.some()).unwrap_or_default();
        Ok((exists.parse() == Some(1_u8)).then(maker))
    }

    /// Returns the state of a flow; nothing if there is no such flow.
    pub async fn state(self, id: FlowId) -> Result<Option<FlowState>, Error> {
        let mut get = redis::cmd("HMGET");
        get.arg(self.0.keys.flow(id)).arg(&["status", "open", "busy"]);
        let [status, open, busy] = self.0.commands.call::<[Text; 3]>(&get).await?;
        let is_there = !matches!(busy.0.as_deref(), Some("storing" | "deleting"));
        let state = |word: String| Some(FlowState { status: FlowStatus::parse(&word)?, open: open.parse().unwrap_or(0) });
        Ok(status.0.filter(|_| is_there).and_then(state))
    }

    /// Returns flows before this number, the newest first; the listed flows that are gone; and the place of the next page, if there may be
    /// one.
    pub async fn before(self, before: Score, limit: usize) -> Result<(Vec<FlowSummary>, Vec<FlowId>, Option<Score>), Error> {
        let key = self.0.keys.flows();
        let mut range = redis::cmd("ZRANGE");
        range.arg(&key).arg(before.beyond()).arg("-inf").arg("BYSCORE").arg("REV").arg("LIMIT").arg(0).arg(limit).arg("WITHSCORES");
        let (listed, next) = self.listed(&key, &range, limit).await?;
        let ids: Vec<FlowId> = listed.into_iter().map(|(id, _)| id).collect();
        let (mut flows, mut gone) = (Vec::new(), Vec::new());
        for (id, fields) in ids.iter().zip(self.heads(&ids).await?) {
            match summary(*id, &fields) {
                Some(flow) => flows.push(flow),
                // A flow that is being created or deleted is neither.
                None if fields.get("status").is_none_or(|status| status.0.is_none()) => gone.push(*id),
                None => {}
            }
        }
        Ok((flows, gone, next))
    }

    /// Returns flows whose jobs need processing and that no server has taken. Also returns the time at which the next one does, if it is
    /// known.
    pub async fn to_do(self, limit: usize) -> Result<(Vec<FlowId>, Option<Timestamp>), Error> {
        let key = self.0.keys.flows_to_do();
        let (mut range, now) = (redis::cmd("ZRANGE"), self.0.clock.now());
        range.arg(&key).arg(0).arg(limit.saturating_sub(1)).arg("WITHSCORES");
        let (flows, last) = self.listed(&key, &range, limit).await?;
        let time = |(_, at): &(FlowId, Score)| Timestamp::from_millis(at.0 as i64);
        let due = flows.iter().take_while(|flow| time(flow) <= now).count();
        // There may be more than these.
        let next = flows.get(due).map(time).or(last.map(|_| now));
        Ok((flows[..due].iter().map(|(id, _)| *id).collect(), next))
    }

    /// Schedules flows soon whose time seems too far ahead. The clock of Redis was set back since, because no flow waits that long.
    pub async fn mend_to_do(self) -> Result<(), Error> {
        let (key, now) = (self.0.keys.flows_to_do(), self.0.clock.now());
        let mut range = redis::cmd("ZRANGE");
        let ahead = format!("({}", now.plus(LONGEST_WAIT).as_millis());
        range.arg(&key).arg(ahead).arg("+inf").arg("BYSCORE").arg("LIMIT").arg(0).arg(MOST_MENDED);
        let ahead: Vec<Vec<u8>> = self.0.commands.call(&range).await?;
        if ahead.is_empty() {
            return Ok(());
        }
        let mut soon = redis::cmd("ZADD");
        soon.arg(&key).arg("XX");
        for flow in ahead {
            soon.arg(now.plus(MENDED_IN).as_millis()).arg(flow);
        }
        self.0.commands.call::<u64>(&soon).await.map(drop)
    }

    /// Delays the processing of a flow by this time, unless it waits already or needs none any more.
    pub async fn postpone(self, flow: FlowId, by: Duration) -> Result<(), Error> {
        let mut later = redis::cmd("ZADD");
        later.arg(self.0.keys.flows_to_do()).arg("XX").arg("GT").arg(self.0.clock.now().plus(by).as_millis()).arg(flow.to_string());
        self.0.commands.call::<u64>(&later).await.map(drop)
    }

    /// Returns the flows of a list, and the place of the last entry if there were as many as requested. Entries of other programs that are
    /// no numbers are removed.
    async fn listed(self, key: &str, range: &Cmd, limit: usize) -> Result<(Vec<(FlowId, Score)>, Option<Score>), Error> {
        let members: Vec<(Vec<u8>, f64)> = self.0.commands.call(range).await?;
        let number = |member: &[u8]| std::str::from_utf8(member).ok()?.parse().ok();
        let ids = members.iter().filter_map(|(member, score)| Some((number(member)?, Score(*score)))).collect();
        let strange: Vec<&[u8]> = members.iter().map(|(member, _)| member.as_slice()).filter(|member| number(member).is_none()).collect();
        if !strange.is_empty() {
            self.0.commands.call::<u64>(redis::cmd("ZREM").arg(key).arg(strange)).await?;
        }
        Ok((ids, members.last().filter(|_| members.len() == limit).map(|(_, score)| Score(*score))))
    }

    /// Returns the fields of flows that lists show. A key that is no hash counts as empty.
    async fn heads(self, ids: &[FlowId]) -> Result<Vec<Fields>, Error> {
        let keys: Vec<String> = ids.iter().map(|id| self.0.keys.flow(*id)).collect();
        let mut pipeline = Pipeline::with_capacity(ids.len());
        for key in &keys {
            pipeline.cmd("HMGET").arg(key).arg(&HEAD);
        }
        let heads = self.0.each_unspoilt::<Vec<Text>>(&keys, &mut pipeline).await?;
        let named = |fields: Vec<Text>| Fields(HEAD.iter().map(|name| (*name).to_owned()).zip(fields).collect());
        Ok(heads.into_iter().map(named).collect())
    }

    /// Returns the ids and names of the jobs of a flow, in order. Jobs whose hash is gone are left out.
    pub async fn job_ids(self, flow: &StoredFlow) -> Result<Vec<StoredFlowJob>, Error> {
        let hashes = self.runner_hashes(flow).await?;
        let of =
            |(number, [name, id, ..]): (&u32, &[Text; 5])| Some(StoredFlowJob { number: *number, id: id.parse()?, name: name.0.clone()? });
        Ok(flow.numbers.iter().zip(&hashes).filter_map(of).collect())
    }

    /// Returns the current state of the jobs of a flow, in order.
    pub async fn jobs(self, flow: &StoredFlow) -> Result<Vec<FlowJob>, Error> {
        let hashes = self.runner_hashes(flow).await?;
        let names: HashMap<String, &str> = flow
            .numbers
            .iter()
            .zip(&hashes)
            .filter_map(|(n, [name, ..])| Some((format!("job:{}:{n}", flow.caller), name.0.as_deref()?)))
            .collect();
        let mut pipeline = Pipeline::with_capacity(hashes.len());
        let mut keys = Vec::with_capacity(hashes.len());
        let mut known = Vec::with_capacity(hashes.len());
        for (number, [name, id, prerequisites, script_type, runner]) in flow.numbers.iter().zip(&hashes) {
            let (Some(name), Some(id)) = (name.0.clone(), id.parse::<JobId>()) else { continue };
            let key = self.0.keys.job(&id);
            pipeline.cmd("HMGET").arg(&key).arg("flow").arg(&SHOWN_OF_FLOW_JOB);
            keys.push(key);
            let needed: Vec<String> = prerequisites.0.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
            let depends_on = needed.iter().filter_map(|key| names.get(key).map(|name| (*name).to_owned())).collect();
            known.push(FlowJob {
                name,
                job_id: id,
                number: *number,
                status: None,
                depends_on,
                script_type: script_type.parse().unwrap_or_default(),
                runner: runner.parse(),
                attempt: 0,
                started_at: None,
                finished_at: None,
                error: None,
            });
        }
        let answers: Vec<Vec<Text>> = self.0.each_unspoilt(&keys, &mut pipeline).await?;
        let own = flow.summary.flow_id;
        for (job, mut fields) in known.iter_mut().zip(answers) {
            // Another job may have taken the id of a deleted one.
            if !fields.is_empty() && fields.remove(0).parse() == Some(own) {
                flow_job(job, fields);
            }
        }
        Ok(known)
    }

    async fn runner_hashes(self, flow: &StoredFlow) -> Result<Vec<[Text; 5]>, Error> {
        let keys: Vec<String> = flow.numbers.iter().map(|number| self.0.keys.runner_job(flow.caller, *number)).collect();
        let mut pipeline = Pipeline::with_capacity(keys.len());
        for key in &keys {
            pipeline.cmd("HMGET").arg(key).arg(&OF_RUNNER_JOB);
        }
        self.0.each_unspoilt(&keys, &mut pipeline).await
    }
}

/// Reads the part of a flow that lists show from its hash. Values of other programs that cannot be read count as missing.
fn summary(id: FlowId, fields: &Fields) -> Option<FlowSummary> {
    let text = |name: &str| text(fields, name);
    if matches!(text("busy"), Some("storing" | "deleting")) {
        return None;
    }
    let number = |name: &str| text(name).and_then(|text| text.parse().ok()).unwrap_or(0);
    let time = |name: &str| text(name).and_then(|text| text.parse().ok());
    Some(FlowSummary {
        flow_id: id,
        status: FlowStatus::parse(text("status")?)?,
        name: text("name").map(str::to_owned),
        caller_id: text("caller").or_else(|| text("caller_id")).unwrap_or_default().to_owned(),
        jobs: number("total"),
        open: number("open"),
        failed: number("failed"),
        stop_requested: text("stopped") == Some("1"),
        created_at: seconds(fields, "created_at"),
        started_at: time("started_at"),
        finished_at: time("finished_at"),
    })
}

fn stored(id: FlowId, fields: &Fields) -> Option<StoredFlow> {
    let text = |name: &str| text(fields, name);
    let map = |name: &str| text(name).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    Some(StoredFlow {
        summary: summary(id, fields)?,
        on_failure: if text("policy") == Some("continue") { OnFailure::Continue } else { OnFailure::Stop },
        env_vars: map("env_vars"),
        caller: text("caller_id").and_then(|text| text.parse().ok()).unwrap_or(0),
        numbers: text("jobs").and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default(),
        result: map("result"),
        left_out: text("left_out") == Some("1"),
        updated_at: seconds(fields, "updated_at"),
    })
}

/// Returns a field that is not empty.
fn text<'f>(fields: &'f HashMap<String, Text>, name: &str) -> Option<&'f str> {
    fields.get(name).and_then(|text| text.0.as_deref()).filter(|text| !text.is_empty())
}

/// Returns a field that is a time in seconds.
fn seconds(fields: &Fields, name: &str) -> Timestamp {
    let seconds: i64 = text(fields, name).and_then(|text| text.parse().ok()).unwrap_or(0);
    Timestamp::from_millis(seconds.saturating_mul(1000))
}
