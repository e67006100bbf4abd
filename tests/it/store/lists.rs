//! Listing jobs costs only as much as the jobs shown, whatever the total, and skips none.

use std::time::Duration;

use hero::model::{ErrorKind, JobError, JobFilter, JobId, JobSpec, Status, Timestamp};
use hero::store::{AttemptEnd, Ended, NewJob, Pruning, Store};

use super::relations::{create, ended, fetch, job};
use crate::support::Redis;

/// Jobs as a server leaves them that finished, in one script: from a time (ms) on, so many for each millisecond, each with its number as name.
const MANY: &str = r#"
  local at = tonumber(ARGV[2])
  for number = 1, tonumber(ARGV[1]) do
    local digest = redis.sha1hex(number)
    local id = string.format('%s-%s-4%s-8%s-%s', digest:sub(1, 8), digest:sub(9, 12), digest:sub(14, 16), digest:sub(18, 20), digest:sub(21, 32))
    local ms = at + math.floor(number / ARGV[3])
    local time = ARGV[4] .. string.format('%02d:%02d.%03dZ', math.floor(ms / 60000) % 60, math.floor(ms / 1000) % 60, ms % 1000)
    redis.call('HSET', 'hero:job:' .. id, 'id', id, 'status', 'finished', 'created_at', time, 'name', number, 'labels', '{"n":"' .. number .. '"}')
    redis.call('RPUSH', ARGV[5], id)
  end
  redis.call('SADD', 'hero:meta:hours', ARGV[5])
"#;

/// Writes this number of finished jobs, named by their number, into the previous hour. Returns the time of the first.
async fn many(redis: &Redis, store: &Store, number: usize, each_ms: usize) -> Timestamp {
    let now = store.clock().now();
    let hour = now.minus(Duration::from_secs(3600)).as_millis() / 3_600_000 * 3_600_000;
    let begin = Timestamp::from_millis(hour);
    let (text, index) = (begin.to_string(), format!("hero:index:{}", begin.hour()));
    let (number, hour, each_ms) = (number.to_string(), hour.to_string(), each_ms.to_string());
    let _: Option<String> = redis.run(&["EVAL", MANY, "0", &number, &hour, &each_ms, &text[..14], &index]).await;
    begin
}

/// The number of reads of job data in Redis since the last call of this function.
async fn looks(redis: &Redis) -> u64 {
    calls(redis, &["hget", "hmget", "hstrlen", "exists", "hgetall", "hlen", "memory|usage"]).await
}

/// The number of calls of these commands since the last call of this function.
async fn calls(redis: &Redis, commands: &[&str]) -> u64 {
    let mut looks = 0;
    for command in commands {
        let calls = redis.run::<String>(&["INFO", "commandstats"]).await;
        let line = calls.lines().find_map(|line| line.strip_prefix("cmdstat_")?.strip_prefix(command)?.strip_prefix(":calls="));
        looks += line.map_or(0, |rest| rest.split(',').next().unwrap().parse::<u64>().unwrap());
    }
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    looks
}

async fn page(store: &Store, filter: &JobFilter, cursor: Option<&str>, limit: usize) -> (Vec<JobId>, Option<String>) {
    let page = store.jobs().list(filter, cursor, limit, 1 << 20).await.unwrap().unwrap();
    (page.jobs.into_iter().map(|job| job.job_id).collect(), page.next_cursor)
}

/// All jobs of a filter, in pages of this size.
async fn by(store: &Store, filter: &JobFilter, limit: usize) -> Vec<JobId> {
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let (jobs, next) = page(store, filter, cursor.as_deref(), limit).await;
        all.extend(jobs);
        cursor = next;
        if cursor.is_none() {
            return all;
        }
    }
}

/// The same, whatever the size of a page, with a limit to the looks for all of them.
async fn listed(redis: &Redis, store: &Store, filter: &JobFilter, most: u64) -> Vec<JobId> {
    let all = by(store, filter, 100).await;
    assert_eq!(by(store, filter, 1).await, all, "{filter:?} by ones");
    looks(redis).await;
    assert_eq!(by(store, filter, 100).await, all, "{filter:?} again");
    let looks = looks(redis).await;
    assert!(looks <= most, "{looks} looks for {} jobs of {filter:?}", all.len());
    all
}

/// Runs the pruner once through all indexes.
async fn prune(store: &Store) {
    for hour in store.maintenance().index_hours().await.unwrap() {
        let mut at = Some(Pruning::default());
        while let Some(place) = at {
            at = store.maintenance().prune(&hour, place).await.unwrap();
        }
    }
    for status in ["error", "left"] {
        let mut at = Some(0);
        while let Some(place) = at {
            at = store.maintenance().clean_status_index(status, place, status == "error" && place == 0).await.unwrap();
        }
    }
    store.maintenance().tidy().await.unwrap();
}

async fn fail(store: &Store, id: &JobId, claim: u32) {
    let error = JobError::new(ErrorKind::Script, "no");
    let end = AttemptEnd::Failed { error, retry_in: Duration::ZERO };
    fetch(store, &[Ended { end, claim, ..ended(id) }], 0).await;
}

fn of(status: Status) -> JobFilter {
    JobFilter { status: Some(status), ..JobFilter::default() }
}

#[tokio::test]
async fn errors_among_many_jobs_are_found_without_a_look_at_the_others() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut failed = Vec::new();
    for _ in 0..4 {
        let id = create(&store, JobSpec::default()).await.0;
        fetch(&store, &[], 1).await;
        fail(&store, &id, 1).await;
        failed.insert(0, id);
    }
    let begin = many(&redis, &store, 5000, 2).await;
    // One that a server of an older version ended.
    let old: Vec<String> = redis.run(&["LRANGE", &format!("hero:index:{}", begin.hour()), "1000", "1000"]).await;
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{}", old[0]), "status", "error"]).await;
    failed.push(old[0].parse().unwrap());
    // Before the pruner has walked through all hours nobody knows whether some are missing.
    let sorted = |mut ids: Vec<JobId>| {
        ids.sort_unstable();
        ids
    };
    assert_eq!(sorted(by(&store, &of(Status::Error), 100).await), sorted(failed.clone()));
    prune(&store).await;
    assert_eq!(sorted(listed(&redis, &store, &of(Status::Error), 200).await), sorted(failed.clone()));
    let named = JobFilter { name: Some("1001".into()), ..of(Status::Error) };
    assert_eq!(listed(&redis, &store, &named, 60).await, failed[4..]);
    let since = JobFilter { created_after: Some(begin.plus(Duration::from_secs(3600))), ..of(Status::Error) };
    assert_eq!(listed(&redis, &store, &since, 200).await.len(), 4);
    // One runs again and one is deleted; a third is gone without a word.
    store.jobs().retry(&failed[0]).await.unwrap();
    store.jobs().delete(&failed[1]).await.unwrap();
    let _: i64 = redis.run(&["DEL", &format!("hero:job:{}", failed[2])]).await;
    assert_eq!(listed(&redis, &store, &of(Status::Error), 100).await, failed[3..]);
    prune(&store).await;
    let index: Vec<String> = redis.run(&["ZRANGE", "hero:index:error", "0", "-1"]).await;
    assert_eq!(index, ["".to_owned(), old[0].clone(), failed[3].to_string()], "what is gone is taken out");
    assert_eq!(fetch(&store, &[], 1).await, failed[..1]);
    fail(&store, &failed[0], 2).await;
    assert_eq!(
        sorted(listed(&redis, &store, &of(Status::Error), 100).await),
        sorted(vec![failed[0].clone(), failed[3].clone(), failed[4].clone()])
    );
    // Where nothing is left there is no index.
    let keys: Vec<String> = redis.run(&["KEYS", "hero:job:*"]).await;
    let _: i64 = redis.run(&[&["DEL"][..], &keys.iter().map(String::as_str).collect::<Vec<_>>()].concat()).await;
    prune(&store).await;
    prune(&store).await;
    assert!(redis.run::<Vec<String>>(&["KEYS", "hero:index:*"]).await.is_empty());
}

#[tokio::test]
async fn jobs_that_have_not_ended_are_found_without_a_look_at_those_that_have() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    many(&redis, &store, 5000, 2).await;
    let mut of_status = std::collections::BTreeMap::<Status, Vec<JobId>>::new();
    for _ in 0..3 {
        let started = create(&store, JobSpec::default()).await.0;
        assert_eq!(fetch(&store, &[], 1).await, std::slice::from_ref(&started));
        let later = JobSpec { run_at: Some("2999-01-01T00:00:00Z".parse().unwrap()), ..JobSpec::default() };
        let scheduled = create(&store, later).await.0;
        let created = NewJob { start: false, ..job(JobSpec::default()) };
        let id = created.id.clone();
        store.jobs().create(created).await.unwrap();
        for (status, id) in [(Status::Started, started), (Status::Scheduled, scheduled), (Status::Created, id)] {
            of_status.entry(status).or_default().push(id);
        }
    }
    for _ in 0..3 {
        of_status.entry(Status::Dispatched).or_default().push(create(&store, JobSpec::default()).await.0);
    }
    for (status, mut ids) in of_status {
        let mut found = listed(&redis, &store, &of(status), 150).await;
        let times: Vec<Option<Timestamp>> =
            futures_util::future::join_all(found.iter().map(|id| async { store.jobs().get(id).await.unwrap().unwrap().created_at })).await;
        assert!(times.is_sorted_by(|newer, older| newer >= older), "{status}: the newest first");
        ids.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, ids, "{status}");
    }
}

#[tokio::test]
async fn a_list_of_a_time_looks_at_no_job_of_another() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let begin = many(&redis, &store, 20_000, 1).await;
    let new = [create(&store, JobSpec::default()).await.0, create(&store, JobSpec::default()).await.0];
    let at = |ms: u64| Some(begin.plus(Duration::from_millis(ms)));
    let since = JobFilter { created_after: at(19_901), ..JobFilter::default() };
    let found = listed(&redis, &store, &since, 9000).await;
    assert_eq!((found.len(), &found[..2]), (102, &[new[1].clone(), new[0].clone()][..]));
    let window = JobFilter { created_after: at(4001), created_before: at(4101), ..JobFilter::default() };
    let found = listed(&redis, &store, &window, 16_000).await;
    assert_eq!(found.len(), 100);
    assert_eq!(store.jobs().get(&found[0]).await.unwrap().unwrap().name.unwrap(), "4100");
    let nothing = JobFilter { created_before: Some(begin), ..JobFilter::default() };
    assert!(listed(&redis, &store, &nothing, 9000).await.is_empty());
}

#[tokio::test]
async fn foreign_jobs_are_listed_by_the_time_that_they_say_whenever_they_were_seen() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let now = store.clock().now();
    let day = Duration::from_secs(86_400);
    let begin = many(&redis, &store, 3000, 1).await;
    let (past, soon, odd) = (JobId::random(), JobId::random(), JobId::random());
    let said = |time: Timestamp| time.to_string();
    for (id, created, status) in [
        (&past, said(now.minus(3 * day)), "error"),
        (&soon, said(now.plus(day)), "error"),
        (&odd, format!("{}+00:00", &said(now.minus(3 * day))[..19]), "finished"),
    ] {
        let fields = ["status", status, "script", "1", "created_at", &*created, "updated_at", &*said(now)];
        let _: i64 = redis.run(&[&["HSET", &*format!("hero:job:{id}")][..], &fields].concat()).await;
    }
    assert_eq!(store.maintenance().discover(&[past.clone(), soon.clone(), odd.clone()]).await.unwrap(), 3);
    let own = create(&store, JobSpec::default()).await.0;
    prune(&store).await;
    for status in [None, Some(Status::Error)] {
        let all = |ids: &[&JobId]| -> Vec<JobId> {
            ids.iter().filter(|id| status.is_none() || [&past, &soon].contains(*id)).map(|id| (*id).clone()).collect()
        };
        let filter = |after: Option<Timestamp>, before: Option<Timestamp>| JobFilter {
            status,
            created_after: after,
            created_before: before,
            ..Default::default()
        };
        let before = filter(None, Some(now.minus(2 * day)));
        assert_eq!(by(&store, &before, 100).await, all(&[&odd, &past]));
        assert_eq!(by(&store, &before, 1).await, all(&[&odd, &past]));
        let within = filter(Some(now.minus(4 * day)), Some(now.minus(2 * day)));
        assert_eq!(by(&store, &within, 100).await, all(&[&odd, &past]));
        assert_eq!(by(&store, &filter(Some(now.plus(day / 2)), None), 100).await, all(&[&soon]));
        assert_eq!(by(&store, &filter(Some(begin.plus(day / 24)), None), 100).await, all(&[&own, &soon]));
    }
    // What is noted of an hour goes with it.
    assert_eq!(redis.run::<i64>(&["HLEN", "hero:meta:strays"]).await, 1);
    let keys: Vec<String> = redis.run(&["KEYS", "hero:job:*"]).await;
    let _: i64 = redis.run(&[&["DEL"][..], &keys.iter().map(String::as_str).collect::<Vec<_>>()].concat()).await;
    prune(&store).await;
    prune(&store).await;
    assert_eq!(redis.run::<i64>(&["EXISTS", "hero:meta:strays"]).await, 0);
}

#[tokio::test]
async fn jobs_that_foreign_programs_left_long_ago_are_found_by_their_status() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let ago = store.clock().now().minus(Duration::from_secs(3 * 86_400)).to_string();
    for status in [Status::Created, Status::Scheduled, Status::Started] {
        let id = JobId::random();
        let fields = ["status", status.as_str(), "script", "1", "created_at", &*ago, "updated_at", &*ago];
        let _: i64 = redis.run(&[&["HSET", &*format!("hero:job:{id}")][..], &fields].concat()).await;
        assert_eq!(store.maintenance().discover(std::slice::from_ref(&id)).await.unwrap(), 1);
        assert_eq!(by(&store, &of(status), 10).await, [id], "{status}");
    }
    let _: i64 = redis.run(&["DEL", &redis.run::<Vec<String>>(&["KEYS", "hero:job:*"]).await[0]]).await;
    prune(&store).await;
    assert_eq!(redis.run::<i64>(&["ZCARD", "hero:index:left"]).await, 2);
}

#[tokio::test]
async fn a_page_looks_at_a_bounded_number_of_jobs_whatever_it_finds() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    many(&redis, &store, 60_000, 100).await;
    let oldest = JobFilter { name: Some("1".into()), ..JobFilter::default() };
    let labelled = JobFilter { labels: [("n".to_owned(), "1".to_owned())].into(), ..JobFilter::default() };
    for (filter, of_each) in [(oldest, 1), (labelled, 2)] {
        let (mut found, mut cursor, mut pages) = (0, None::<String>, 0);
        looks(&redis).await;
        loop {
            let (jobs, next) = page(&store, &filter, cursor.as_deref(), 10).await;
            let looks = looks(&redis).await;
            assert!(looks <= 22_000 * of_each, "{looks} looks for a page of {filter:?}");
            (found, pages, cursor) = (found + jobs.len(), pages + 1, next);
            if cursor.is_none() {
                break;
            }
        }
        assert!(found == 1 && pages >= 3, "{found} jobs in {pages} pages");
    }
}

#[tokio::test]
async fn a_cursor_of_another_list_is_refused_or_goes_on() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    for _ in 0..3 {
        create(&store, JobSpec::default()).await;
    }
    let (first, queued) = page(&store, &of(Status::Dispatched), None, 1).await;
    let refused = store.jobs().list(&JobFilter::default(), queued.as_deref(), 1, 1 << 20).await.unwrap();
    assert_eq!((first.len(), refused), (1, None));
    let (_, all) = page(&store, &JobFilter::default(), None, 1).await;
    assert_eq!(page(&store, &of(Status::Dispatched), all.as_deref(), 10).await.0.len(), 2);
}

#[tokio::test]
async fn a_job_whose_hash_says_1970_hides_none_from_a_list_of_a_time() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let now = store.clock().now();
    let mut ids = Vec::new();
    for number in 0..40 {
        let id = if number == 8 { JobId::random() } else { create(&store, JobSpec::default()).await.0 };
        if number == 8 {
            // As servers of older versions left what came from a queue of the conveyor layout.
            let time = store.clock().now();
            let fields = ["status", "dispatched", "script", "1", "created_at", &*time.to_string(), "indexed", "1"];
            let _: i64 = redis.run(&[&["HSET", &*format!("hero:job:{id}")][..], &fields].concat()).await;
            let _: i64 = redis.run(&["RPUSH", &format!("hero:index:{}", time.hour()), id.as_str()]).await;
        }
        ids.insert(0, id);
    }
    let since = JobFilter { created_after: Some(now.minus(Duration::from_secs(5))), ..JobFilter::default() };
    for limit in [100, 32, 8, 1] {
        assert_eq!(by(&store, &since, limit).await, ids, "{limit} a page");
    }
}

#[tokio::test]
async fn labels_in_other_forms_cost_a_list_few_calls_whatever_the_size_of_a_page() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let begin = many(&redis, &store, 6000, 2).await;
    let index = format!("hero:index:{}", begin.hour());
    let filter = JobFilter { labels: [("x".to_owned(), "y".to_owned())].into(), ..JobFilter::default() };
    let relabel =
        "for _, id in ipairs(redis.call('LRANGE', ARGV[1], 0, -1)) do redis.call('HSET', 'hero:job:' .. id, 'labels', ARGV[2]) end";
    // What functions can read they compare; what they cannot is read by the server, many at a time.
    for (labels, most) in [("{\"a\": \"b\"}", 60), ("{\"a\": \"b\"", 450)] {
        let _: Option<String> = redis.run(&["EVAL", relabel, "0", &index, labels]).await;
        let old: Vec<String> = redis.run(&["LRANGE", &index, "7", "7"]).await;
        let _: i64 = redis.run(&["HSET", &format!("hero:job:{}", old[0]), "labels", "{\"a\": \"\\u0062\", \"x\" : \"\\u0079\"}"]).await;
        let _: u64 = calls(&redis, &[]).await;
        let found = by(&store, &filter, 1).await;
        let calls = calls(&redis, &["fcall"]).await;
        assert_eq!(found.iter().map(JobId::as_str).collect::<Vec<_>>(), [&*old[0]], "{labels}");
        assert!((1..=most).contains(&calls), "{calls} calls for {labels}");
    }
}

#[tokio::test]
async fn what_runs_elsewhere_for_long_is_found_behind_a_long_queue() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let id = JobId::random();
    let now = store.clock().now().to_string();
    let fields = ["status", "started", "script", "1", "created_at", &*now, "updated_at", &*now];
    let _: i64 = redis.run(&[&["HSET", &*format!("hero:job:{id}")][..], &fields].concat()).await;
    assert_eq!(store.maintenance().discover(std::slice::from_ref(&id)).await.unwrap(), 1);
    let look = async || {
        let _: i64 = redis.run(&["ZADD", "hero:q:watched", "0", id.as_str()]).await;
        // On a busy machine a call may come too late to do anything.
        while store.queues().reap(128).await.unwrap().is_none() {}
    };
    look().await;
    let queue =
        "for number = 1, 2100 do redis.call('ZADD', 'hero:q:watched', 9e15, string.format('%08d-0000-4000-8000-000000000000', number)) end";
    let _: Option<String> = redis.run(&["EVAL", queue, "0"]).await;
    // What `note_native_only` does an hour after it was first seen.
    let _: i64 = redis.run(&["DEL", "hero:meta:foreign"]).await;
    look().await;
    assert_eq!(by(&store, &of(Status::Started), 10).await, [id]);
}

#[tokio::test]
async fn what_a_foreign_program_adds_to_the_index_of_errors_hides_none_and_is_not_read_whole() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let id = create(&store, JobSpec::default()).await.0;
    fetch(&store, &[], 1).await;
    fail(&store, &id, 1).await;
    prune(&store).await;
    let add = "for number = 1, 200000 do redis.call('ZADD', 'hero:index:error', 1e15, number) end";
    let _: Option<String> = redis.run(&["EVAL", add, "0"]).await;
    let _: u64 = calls(&redis, &[]).await;
    assert_eq!(page(&store, &of(Status::Error), None, 10).await.0, [id]);
    let reads = calls(&redis, &["zrevrange"]).await;
    assert!((1..=40).contains(&reads), "{reads} reads of at most 128 entries each");
}
