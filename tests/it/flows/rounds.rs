//! Operations on all jobs of a flow run in rounds: no call blocks Redis for long, and if a server is killed between two
//! rounds, other servers continue.

use std::time::Duration;

use hero::coordinator::flows::{Flows, Resumer};
use hero::model::{FlowId, FlowStatus, JobId};
use hero::service::Service;
use hero::store::{Advanced, FlowAction, Retried, Store};

use super::*;
use crate::support::{Redis, dispatcher};

/// More than this no call has Redis do for a flow.
const MOST_COMMANDS: u64 = 3000;

/// A flow that was never started, and no server that processes it.
struct Ground {
    redis: Redis,
    store: Store,
    flow: FlowId,
    jobs: Vec<JobId>,
}

impl Ground {
    async fn with(many: usize) -> Self {
        let redis = Redis::start().await;
        let store = redis.store().await;
        let jobs: serde_json::Map<String, Value> = (0..many).map(|at| (format!("j{at}"), json!({"script": "1"}))).collect();
        let spec = serde_json::from_value(json!({"jobs": jobs, "caller_id": "3", "on_failure": "continue"})).unwrap();
        let flow = Flows::new(dispatcher([store.clone()], redis.directory())).create(spec).await.unwrap();
        let stored = store.flows().get(flow).await.unwrap().unwrap();
        let jobs = store.flows().job_ids(&stored).await.unwrap().into_iter().map(|job| job.id).collect();
        Self { redis, store, flow, jobs }
    }

    /// The number of commands that Redis has run, including those of functions.
    async fn commands(&self) -> u64 {
        let info: String = self.redis.run(&["INFO", "commandstats"]).await;
        let calls = info.lines().filter_map(|line| line.split_once(":calls=")?.1.split(',').next()?.parse::<u64>().ok());
        calls.sum()
    }

    async fn advance(&self, action: FlowAction) -> Advanced {
        let before = self.commands().await;
        let advanced = self.store.flows().advance(self.flow, action).await.unwrap();
        let many = self.commands().await - before;
        assert!(many < MOST_COMMANDS, "{many} commands for {action:?}, which gave {advanced:?}");
        advanced
    }

    /// Does something with all jobs; where that has to wait, a second goes by.
    async fn finish(&self, action: FlowAction) -> FlowStatus {
        let mut advanced = self.advance(action).await;
        loop {
            match advanced {
                Advanced::Done(status) => return status,
                Advanced::Later(_) => self.store.clock().advance(Duration::from_secs(1)),
                Advanced::More(_) => {}
                other => panic!("{action:?}: {other:?}"),
            }
            advanced = self.advance(FlowAction::Continue).await;
        }
    }

    async fn field(&self, name: &str) -> String {
        self.redis.run::<Option<String>>(&["HGET", &format!("flow:{}", self.flow), name]).await.unwrap_or_default()
    }

    /// Goes on until something has been done with some of the jobs, and not with all.
    async fn until_half_way(&self, busy: &str, how_far: &str) {
        for _ in 0..100 {
            if self.field("busy").await == busy && self.field(how_far).await.parse::<u32>().is_ok_and(|at| at > 0) {
                return;
            }
            assert!(matches!(self.advance(FlowAction::Continue).await, Advanced::More(_)));
        }
        panic!("it is not {busy}");
    }

    async fn runs_again(&self, job: usize) {
        let before = self.commands().await;
        assert!(matches!(self.store.jobs().retry(&self.jobs[job]).await.unwrap(), Retried::OnItsWay(_)));
        assert!(self.commands().await - before < MOST_COMMANDS);
    }

    async fn stop_job(&self, job: usize) {
        let before = self.commands().await;
        self.store.jobs().stop(&self.jobs[job]).await.unwrap();
        assert!(self.commands().await - before < MOST_COMMANDS);
    }

    /// For how long the flow, its jobs and their hashes in the runner layout are kept.
    async fn lives(&self) -> Vec<i64> {
        let keys = self.jobs.iter().enumerate().flat_map(|(at, job)| [format!("job:3:{}", at + 1), format!("hero:job:{job}")]);
        let keys: Vec<String> = keys.chain([format!("flow:{}", self.flow)]).collect();
        let script = "local all = {} for at, key in ipairs(ARGV) do all[at] = redis.call('TTL', key) end return all";
        let words: Vec<&str> = ["EVAL", script, "0"].into_iter().chain(keys.iter().map(String::as_str)).collect();
        self.redis.run(&words).await
    }

    async fn is_over(&self) {
        assert_eq!(
            (self.field("status").await, self.field("open").await, self.field("busy").await),
            ("error".into(), "0".into(), String::new())
        );
        assert_eq!(self.field("failed").await, self.jobs.len().to_string());
        for seconds in self.lives().await {
            assert!((604_000..=604_860).contains(&seconds), "{seconds} s");
        }
    }

    async fn goes_on(&self, open: usize) {
        assert_eq!((self.field("status").await, self.field("open").await), ("started".into(), open.to_string()));
        for seconds in self.lives().await {
            assert!(seconds == -1 || seconds > 604_860, "{seconds} s");
        }
    }
}

#[tokio::test]
async fn no_call_does_much_with_a_flow_of_a_thousand_jobs() {
    let ground = Ground::with(1000).await;
    assert_eq!(ground.finish(FlowAction::Start).await, FlowStatus::Dispatched);
    assert_eq!(ground.finish(FlowAction::Stop).await, FlowStatus::Error);
    ground.is_over().await;
    assert_eq!(ground.finish(FlowAction::Retry).await, FlowStatus::Started);
    ground.goes_on(1000).await;
    assert_eq!(ground.finish(FlowAction::Stop).await, FlowStatus::Error);
    ground.runs_again(999).await;
    assert_eq!(ground.finish(FlowAction::Continue).await, FlowStatus::Started);
    ground.goes_on(1).await;
    ground.stop_job(999).await;
    assert_eq!(ground.finish(FlowAction::Continue).await, FlowStatus::Error);
    ground.is_over().await;
    ground.finish(FlowAction::Delete).await;
    assert_eq!(ground.advance(FlowAction::Continue).await, Advanced::Missing);
    assert!(ground.lives().await.iter().all(|seconds| *seconds == -2));
}

#[tokio::test]
async fn what_was_begun_goes_on_whichever_round_was_the_last_of_a_killed_server() {
    let ground = Ground::with(200).await;
    for rounds in [1, 2, 3, 5, 8, 13] {
        for (action, ended) in [(FlowAction::Stop, true), (FlowAction::Retry, false)] {
            ground.advance(action).await;
            for _ in 1..rounds {
                ground.advance(FlowAction::Continue).await;
            }
            // Others see that nobody goes on; then an end may still have to wait.
            for _ in 0..2 {
                ground.store.clock().advance(Duration::from_secs(6));
                Resumer::new(ground.store.clone()).tick().await.unwrap();
            }
            if ended { ground.is_over().await } else { ground.goes_on(200).await }
        }
    }
}

#[tokio::test]
async fn a_flow_that_cannot_go_on_holds_up_no_other_and_is_tried_again_later() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let flows = Flows::new(dispatcher([store.clone()], redis.directory()));
    let mut made = Vec::new();
    for caller in 1..=2 {
        let spec = serde_json::from_value(json!({"jobs": {"a": {"script": "1"}}, "caller_id": caller.to_string()})).unwrap();
        made.push(flows.create(spec).await.unwrap());
        store.clock().advance(Duration::from_millis(1));
        store.flows().advance(made[caller - 1], FlowAction::Start).await.unwrap();
        let began = redis.run::<i64>(&["HSET", &format!("flow:{}", made[caller - 1]), "busy", "keeping", "at", "0"]).await;
        assert_eq!(began, 0, "only the values are new");
        let due = caller.to_string();
        let _: i64 = redis.run(&["ZADD", "hero:q:flows", &due, &made[caller - 1].to_string()]).await;
    }
    let busy = async |at: usize| redis.run::<String>(&["HGET", &format!("flow:{}", made[at]), "busy"]).await;
    // What is done with the jobs of the first one fails.
    let _: String = redis.run(&["ACL", "SETUSER", "default", "resetkeys", "~hero:*", "~flow:*", "~runner*", "~job:2:*"]).await;
    let mut resumer = Resumer::new(store.clone());
    resumer.tick().await.unwrap();
    assert_eq!((busy(0).await.as_str(), busy(1).await.as_str()), ("keeping", ""));
    let _: String = redis.run(&["ACL", "SETUSER", "default", "allkeys"]).await;
    resumer.tick().await.unwrap();
    assert_eq!(busy(0).await, "keeping", "its time has not come");
    store.clock().advance(Duration::from_secs(11));
    resumer.tick().await.unwrap();
    assert_eq!(busy(0).await, "");
}

#[tokio::test]
async fn a_flow_that_is_about_to_end_goes_on_with_a_job_that_runs_again_and_loses_none() {
    let ground = Ground::with(200).await;
    ground.advance(FlowAction::Stop).await;
    ground.until_half_way("ending", "at").await;
    ground.runs_again(0).await;
    assert_eq!(ground.finish(FlowAction::Continue).await, FlowStatus::Started);
    ground.goes_on(1).await;
    ground.stop_job(0).await;
    assert_eq!(ground.finish(FlowAction::Continue).await, FlowStatus::Error);
    ground.is_over().await;
    // However often somebody has a job of it run again, it ends once a second at most.
    ground.runs_again(1).await;
    assert_eq!(ground.finish(FlowAction::Continue).await, FlowStatus::Started);
    ground.store.clock().advance(Duration::from_secs(6));
    ground.stop_job(1).await;
    assert_eq!(ground.finish(FlowAction::Continue).await, FlowStatus::Error);
    ground.runs_again(1).await;
    ground.finish(FlowAction::Continue).await;
    ground.stop_job(1).await;
    let ends_after: i64 = ground.field("ends_after").await.parse().unwrap();
    let is_early = ground.store.clock().now().as_millis() < ends_after;
    let advanced = ground.advance(FlowAction::Continue).await;
    assert!(matches!(advanced, Advanced::Later(_)) || !is_early, "{advanced:?}");
    assert_eq!(ground.finish(FlowAction::Continue).await, FlowStatus::Error);
    ground.is_over().await;
}

#[tokio::test]
async fn what_changes_while_the_jobs_of_a_flow_are_counted_counts() {
    let ground = Ground::with(300).await;
    // One is gone and will never end, and somebody wrote other numbers.
    let _: i64 = ground.redis.run(&["DEL", &format!("hero:job:{}", ground.jobs[2])]).await;
    ground.advance(FlowAction::Stop).await;
    ground.until_half_way("counting", "counted_to").await;
    let _: i64 = ground.redis.run(&["HSET", "flow:1", "open", "77", "failed", "5"]).await;
    ground.runs_again(0).await;
    ground.runs_again(299).await;
    assert_eq!(ground.finish(FlowAction::Continue).await, FlowStatus::Started);
    assert_eq!((ground.field("open").await, ground.field("failed").await), ("2".into(), "298".into()));
    ground.stop_job(0).await;
    ground.stop_job(299).await;
    assert_eq!(ground.finish(FlowAction::Continue).await, FlowStatus::Error);
    assert_eq!((ground.field("open").await, ground.field("failed").await), ("0".into(), "300".into()));
}

/// What is in the way of each job when the first one has failed by itself: as it is told where its end lets the others go before they are
/// stopped, and where they are stopped before.
async fn told_of_each(stopped_first: bool, jobs: Value) -> BTreeMap<String, (String, String)> {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let spec = serde_json::from_value(json!({ "jobs": jobs, "caller_id": "3" })).unwrap();
    let flow = Flows::new(dispatcher([store.clone()], redis.directory())).create(spec).await.unwrap();
    let finish = async |action| {
        let mut advanced = store.flows().advance(flow, action).await.unwrap();
        while matches!(advanced, Advanced::More(_)) {
            advanced = store.flows().advance(flow, FlowAction::Continue).await.unwrap();
        }
    };
    finish(FlowAction::Start).await;
    let claim = ["FCALL", "hero_claim", "1", "hero:q:work:type:osis", "alice:1", "0", "osis:default:1", "30000"];
    let claimed: Vec<String> = redis.run(&claim).await;
    let of = |name: &str| claimed[claimed.iter().position(|word| word == name).unwrap() + 1].clone();
    let failed: String =
        redis.run(&["FCALL", "hero_fail", "1", &format!("hero:job:{}", of("id")), "alice:1", "0", &of("claim"), "no"]).await;
    assert_eq!(failed, "error");
    let release = async || while store.jobs().release_relatives(128).await.unwrap() {};
    if !stopped_first {
        release().await;
    }
    finish(FlowAction::Continue).await;
    release().await;
    let stored = store.flows().get(flow).await.unwrap().unwrap();
    assert!(stored.summary.status.is_final(), "{:?}", stored.summary.status);
    let ended = store.flows().jobs(&stored).await.unwrap().into_iter();
    ended.map(|job| (job.name, job.error.map_or_else(Default::default, |error| (error.kind.as_str().to_owned(), error.message)))).collect()
}

#[tokio::test]
async fn what_a_job_that_waited_is_told_does_not_depend_on_who_comes_to_it_first() {
    // "other" is stopped with the flow, and so is what waits for it; what waits for "bad" too never ran because of that.
    let jobs = json!({
        "bad": {"script": "1"},
        "other": {"script": "1"},
        "after": {"script": "1", "depends_on": ["bad"]},
        "last": {"script": "1", "depends_on": ["after"]},
        "beside": {"script": "1", "depends_on": ["other"]},
        "both": {"script": "1", "depends_on": ["other", "bad"]},
    });
    let told = told_of_each(true, jobs.clone()).await;
    let kinds: Vec<(&str, &str)> = told.iter().map(|(name, (kind, _))| (name.as_str(), kind.as_str())).collect();
    let (never_ran, stopped) = ("prerequisite", "stopped");
    let expected =
        [("after", never_ran), ("bad", "script"), ("beside", stopped), ("both", never_ran), ("last", never_ran), ("other", stopped)];
    assert_eq!(kinds, expected);
    let released_first = told_of_each(false, jobs).await;
    let without_ids = |told: &BTreeMap<String, (String, String)>| -> Vec<(String, String, usize)> {
        told.iter().map(|(name, (kind, text))| (name.clone(), kind.clone(), text.len())).collect()
    };
    assert_eq!(without_ids(&told), without_ids(&released_first));
}

#[tokio::test]
async fn what_waits_for_a_job_that_was_stopped_with_its_flow_is_stopped_in_every_round() {
    // More than a round stops at once: the last one is let go by the end of the first before the flow comes to it.
    let mut jobs: serde_json::Map<String, Value> = (0..60).map(|at| (format!("j{at:02}"), json!({"script": "1"}))).collect();
    jobs.insert("last".into(), json!({"script": "1", "depends_on": ["j00"]}));
    let redis = Redis::start().await;
    let store = redis.store().await;
    let spec = serde_json::from_value(json!({ "jobs": jobs, "caller_id": "3" })).unwrap();
    let flow = Flows::new(dispatcher([store.clone()], redis.directory())).create(spec).await.unwrap();
    store.flows().advance(flow, FlowAction::Start).await.unwrap();
    let mut advanced = store.flows().advance(flow, FlowAction::Stop).await.unwrap();
    let last = || async {
        let stored = store.flows().get(flow).await.unwrap().unwrap();
        store.flows().jobs(&stored).await.unwrap().into_iter().find(|job| job.name == "last").unwrap()
    };
    assert_eq!(last().await.error, None, "the first round does not come so far");
    while store.jobs().release_relatives(128).await.unwrap() {}
    while matches!(advanced, Advanced::More(_)) {
        advanced = store.flows().advance(flow, FlowAction::Continue).await.unwrap();
    }
    assert_eq!(last().await.error.unwrap().kind, hero::model::ErrorKind::Stopped);
}
