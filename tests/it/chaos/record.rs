use std::collections::{BTreeMap, HashMap};

use hero::model::JobId;

use super::load::{End, Jobs};
use super::town::Town;
use crate::support::until;

/// An entry of the event stream.
#[derive(Debug)]
struct Change {
    status: String,
    attempt: u32,
    kind: Option<String>,
}

/// Checks the records in Redis after all work is done. Returns the number of crashes.
pub async fn check(town: &Town, jobs: &Jobs) -> usize {
    until("nothing is under way", || async {
        let busy: [u64; 3] = [
            town.redis(&["ZCARD", "hero:q:leases"]).await,
            town.redis(&["ZCARD", "hero:q:scheduled"]).await,
            town.redis(&["LLEN", "hero:q:work:type:osis"]).await,
        ];
        (busy == [0; 3]).then_some(())
    })
    .await;
    let (acknowledged, of_scripts) = (jobs.all(), jobs);
    let mut changes: HashMap<JobId, Vec<Change>> = HashMap::new();
    let events: Vec<(String, HashMap<String, String>)> = town.redis(&["XRANGE", "hero:events", "-", "+"]).await;
    for (_, mut event) in events {
        let change =
            Change { status: event.remove("status").unwrap(), attempt: event["attempt"].parse().unwrap(), kind: event.remove("kind") };
        let of_job = changes.entry(event["job"].parse().unwrap()).or_default();
        if event.contains_key("dispatched") {
            of_job.push(Change { status: "dispatched".into(), attempt: 0, kind: None });
        }
        if event.contains_key("started") {
            of_job.push(Change { status: "started".into(), attempt: 1, kind: None });
        }
        of_job.push(change);
    }
    // Nobody gave up a call before it was answered, so every job with an id of its client's is one that was acknowledged.
    let mut jobs = acknowledged;
    for id in changes.keys() {
        if !jobs.contains_key(id) {
            let script: String = town.redis(&["HGET", &format!("hero:job:{id}"), "script"]).await;
            jobs.insert(id.clone(), of_scripts.of_script(&script).unwrap_or_else(|| panic!("nobody asked for {id}")));
        }
    }
    assert_eq!(changes.len(), jobs.len());

    let mut ended = BTreeMap::from([("finished", 0_u64), ("error", 0)]);
    for (id, end) in &jobs {
        let hash: HashMap<String, String> = town.redis(&["HGETALL", &format!("hero:job:{id}")]).await;
        let changes = &changes[id];
        check_job(end, &hash, changes).unwrap_or_else(|why| panic!("{id}: {why}: {hash:?} {changes:#?}"));
        *ended.get_mut(hash["status"].as_str()).unwrap() += 1;
    }

    let counted: HashMap<String, u64> = town.redis(&["HGETALL", "hero:meta:queue:stats:osis"]).await;
    let count = |what: &str| counted.get(what).copied().unwrap_or_default();
    assert_eq!((count("finished"), count("error")), (ended["finished"], ended["error"]), "{counted:?}");
    assert_eq!(count("created"), jobs.len() as u64, "{counted:?}");
    check_keys(town).await;
    changes.values().flatten().filter(|change| change.kind.as_deref() == Some("crashed")).count()
}

/// Asserts that a job ended as it should, once, and that its history leads there.
fn check_job(end: &End, hash: &HashMap<String, String>, changes: &[Change]) -> Result<(), &'static str> {
    let number = |field: &str| hash.get(field).map_or(0, |number| number.parse::<u32>().unwrap());
    let is = |truth: bool, why: &'static str| if truth { Ok(()) } else { Err(why) };
    let (status, kind) = (hash.get("status").map(String::as_str), hash.get("error_kind").map(String::as_str));
    match (status, kind, end) {
        (Some("finished"), None, End::Output(output)) => is(hash.get("output") == Some(output), "its output is wrong")?,
        (Some("error"), Some("script"), End::Thrown(attempts)) => is(number("failures") == *attempts, "it failed too often or too rarely")?,
        (Some("error"), Some("crashed"), _) => is(number("crashes") == 3, "it was given up too early")?,
        _ => return Err("its end is wrong"),
    }
    is(hash.contains_key("finished_at"), "it has no time of its end")?;
    is(hash.get("lease").is_none_or(String::is_empty), "somebody still holds it")?;

    let of = |status: &str| changes.iter().filter(|change| change.status == status).count();
    is(of("finished") + of("error") == 1, "it did not end exactly once")?;
    is(changes.last().map(|change| change.status.as_str()) == status, "its last event is not its end")?;
    let crashed = changes.iter().filter(|change| change.kind.as_deref() == Some("crashed")).count();
    is(crashed == number("crashes") as usize, "its crashes are not all on record")?;
    // Each step has to follow from the one before.
    let mut attempt = 0;
    for pair in changes.windows(2) {
        let legal = match (pair[0].status.as_str(), pair[1].status.as_str()) {
            ("created" | "scheduled" | "started", "dispatched") => true,
            ("dispatched", "started") => {
                attempt += 1;
                pair[1].attempt == pair[0].attempt + 1
            }
            ("started", "scheduled" | "finished" | "error") => pair[1].attempt == pair[0].attempt,
            _ => false,
        };
        is(legal, "a step is wrong")?;
    }
    let released =
        changes.windows(2).filter(|pair| pair[0].status == "started" && pair[1].status == "dispatched" && pair[1].kind.is_none());
    is(attempt == number("attempt") + u32::try_from(released.count()).unwrap(), "its attempts are not all on record")
}

/// Asserts that every remaining key has an end or an owner.
async fn check_keys(town: &Town) {
    assert_eq!(town.misplaced_keys().await, Vec::<String>::new());
    let keys: Vec<String> = town.redis(&["KEYS", "*"]).await;
    for key in &keys {
        let key = key.strip_prefix(town.prefix()).unwrap_or_else(|| panic!("{key} is no key of the context"));
        let (ends, for_ever) = (
            [
                "hero:job:",
                "hero:log:",
                "hero:q:reply:",
                "hero:q:ctl:",
                "hero:meta:actor:inst:",
                "hero:meta:calm",
                "hero:meta:displaced:",
                "hero:meta:reaped",
                "hero:meta:queue:stats:",
            ],
            [
                "hero:events",
                "hero:index:",
                "hero:meta:actors",
                "hero:meta:queues",
                "hero:meta:hours",
                "hero:meta:strays",
                "hero:meta:types",
                "hero:meta:identity",
                // The servers that lately looked after messages.
                "hero:meta:nodes",
                "hero:access:contexts",
                "hero:meta:access",
                "context:0",
            ],
        );
        if ends.iter().any(|prefix| key.starts_with(prefix)) {
            let seconds: i64 = town.redis(&["TTL", key]).await;
            assert!(seconds != -1, "{key} is kept for ever");
        } else {
            // Above all no work queue, no lease, and nothing scheduled.
            assert!(for_ever.iter().any(|prefix| key.starts_with(prefix)), "{key} is left behind");
        }
    }
    // Those that were killed are forgotten, and those that live are there.
    until("the end of the dead", || async {
        let actors: Vec<String> = town.redis(&["KEYS", "hero:meta:actor:inst:*"]).await;
        (actors.len() == 4).then_some(())
    })
    .await;
}
