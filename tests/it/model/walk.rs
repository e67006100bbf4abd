//! Invariants after every step: Redis matches the model, every job can make progress, and every key has an owner or an
//! expiry.

use std::collections::{BTreeMap, BTreeSet};

use hero::model::Status;

use super::plain::{List, Number};
use super::town::{QUEUE, Town};

type Hash = BTreeMap<String, String>;

/// Keys that are there for good.
const FOR_GOOD: [&str; 8] =
    [QUEUE, "hero:q:scheduled", "hero:q:leases", "hero:q:watched", "hero:q:unwritten", "hero:q:release", "hero:events", "hero:meta:queues"];

impl Town<'_> {
    async fn ask<T: redis::FromRedisValue>(&mut self, words: &[&str]) -> T {
        redis::cmd(words[0]).arg(&words[1..]).query_async(&mut self.connection).await.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    async fn zset(&mut self, key: &str) -> BTreeMap<String, u64> {
        let entries: Vec<(String, f64)> = self.ask(&["ZRANGE", key, "0", "-1", "WITHSCORES"]).await;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "scores are milliseconds")]
        entries.into_iter().map(|(id, score)| (id, score as u64)).collect()
    }

    fn names(&self, entries: &BTreeMap<Number, u64>) -> BTreeMap<String, u64> {
        entries.iter().map(|(job, time)| (self.plain.job(*job).id.to_string(), *time)).collect()
    }

    /// Compares all of Redis with the model.
    pub async fn check(&mut self) {
        let mut pipeline = redis::pipe();
        for job in &self.plain.jobs {
            pipeline.cmd("HGETALL").arg(format!("hero:job:{}", job.id));
        }
        let hashes: Vec<Hash> =
            if self.plain.jobs.is_empty() { Vec::new() } else { pipeline.query_async(&mut self.connection).await.unwrap() };
        for (number, (job, hash)) in self.plain.jobs.iter().zip(&hashes).enumerate() {
            let text = |field: &str| hash.get(field).map_or("", String::as_str);
            let count = |field: &str| hash.get(field).map_or(0, |text| text.parse::<u32>().unwrap());
            let holder = job.holder.map_or("", |holder| &self.names[holder]);
            let expected = (job.status.map_or("", Status::as_str), job.attempt, job.failures, job.crashes, holder, job.stopping);
            let real = (
                text("status"),
                count("attempt"),
                count("failures"),
                count("crashes"),
                text("lease"),
                hash.contains_key("stop_requested_at"),
            );
            if job.status.is_some() {
                assert_eq!(real, expected, "job {number} {}", job.id);
            } else {
                assert!(hash.is_empty(), "job {number} {} is gone, and there is {hash:?}", job.id);
            }
        }
        let queue: Vec<String> = self.ask(&["LRANGE", QUEUE, "0", "-1"]).await;
        let expected: Vec<String> = self.plain.queue.iter().map(|job| self.plain.job(*job).id.to_string()).collect();
        assert_eq!(queue, expected, "the queue");
        let plain = &self.plain;
        let sets = [("scheduled", &plain.scheduled), ("leases", &plain.leases), ("watched", &plain.watched)];
        for (key, expected) in sets.map(|(key, entries)| (key, self.names(entries))) {
            assert_eq!(self.zset(&format!("hero:q:{key}")).await, expected, "{key}");
        }
        self.check_ways(&hashes);
    }

    /// Every job that has not ended is where somebody looks for it, or waits for somebody who will let it go.
    fn check_ways(&self, hashes: &[Hash]) {
        let plain = &self.plain;
        for (number, job) in plain.jobs.iter().enumerate() {
            let lists = || plain.lists.iter().filter(|(_, jobs)| jobs.contains(&number));
            let open = hashes[number].get("open").map_or(0, |open| open.parse::<i64>().unwrap());
            match job.status {
                Some(Status::Created | Status::Scheduled) => assert!(plain.scheduled.contains_key(&number), "job {number}"),
                Some(Status::WaitingForPrerequisites) => {
                    assert!(open > 0, "job {number} waits for nothing");
                    for ((list, owner), _) in lists() {
                        let it = plain.job(*owner);
                        let ended = it.status.is_none_or(Status::is_final);
                        let settled = !plain.watched.contains_key(owner) && !it.unknown;
                        let pending = plain.pending.iter().any(|(other, ..)| other == owner)
                            || *list == List::Continuations && plain.active.contains_key(owner);
                        assert!(!ended || !settled || pending, "job {number} waits for job {owner} ({list:?}), which has ended");
                    }
                }
                Some(Status::Dispatched) => assert!(job.unknown || plain.watched.contains_key(&number), "job {number} is not watched"),
                Some(Status::Started) => {
                    let looked_at = plain.leases.contains_key(&number) || plain.watched.contains_key(&number);
                    assert!(job.unknown || looked_at, "nobody looks after job {number}");
                }
                _ => {}
            }
            let waits = matches!(job.status, Some(Status::Created | Status::Scheduled | Status::WaitingForPrerequisites));
            if waits && job.attempt == 0 {
                let times: usize = lists().map(|(_, jobs)| jobs.iter().filter(|other| **other == number).count()).sum();
                assert_eq!(open, i64::try_from(times).unwrap(), "job {number} is in {times} lists");
            }
        }
    }

    /// Walks over all keys, lists of relations and events.
    pub async fn walk(&mut self) {
        let numbers: BTreeMap<String, Number> = self.plain.jobs.iter().enumerate().map(|(at, job)| (job.id.to_string(), at)).collect();
        let keys: Vec<String> = self.ask(&["KEYS", "*"]).await;
        let mut pipeline = redis::pipe();
        for key in &keys {
            pipeline.cmd("TTL").arg(key);
        }
        let ttls: Vec<i64> = if keys.is_empty() { Vec::new() } else { pipeline.query_async(&mut self.connection).await.unwrap() };
        let mut lists = BTreeMap::new();
        for (key, ttl) in keys.iter().zip(ttls) {
            if FOR_GOOD.contains(&&**key) || key.starts_with("hero:index:") || key.starts_with("hero:meta:") {
                continue;
            }
            if let Some(id) = key.strip_prefix("hero:job:") {
                let number = *numbers.get(id).unwrap_or_else(|| panic!("nobody made {key}"));
                assert!(self.plain.job(number).status.is_some(), "{key} is back");
                // What is still to be released may be kept for descendants; what nobody of us knows is its writer's.
                if !self.plain.pending.iter().any(|(other, ..)| *other == number) && !self.plain.job(number).unknown {
                    assert_eq!(ttl > 0, self.plain.expires(number), "{key} has {ttl} s to live: {:?}", self.plain.job(number));
                }
            } else if let Some((id, what)) = key.strip_prefix("hero:rel:").and_then(|rest| rest.split_once(':')) {
                let owner = numbers[id];
                let ids: Vec<String> =
                    if what == "active" { self.ask(&["SMEMBERS", key]).await } else { self.ask(&["LRANGE", key, "0", "-1"]).await };
                lists.insert((what.to_owned(), owner), ids.iter().map(|id| numbers[id]).collect::<Vec<_>>());
                let it = self.plain.job(owner);
                let lives = it.status.is_some_and(|status| !status.is_final()) || self.plain.watched.contains_key(&owner) || it.unknown;
                let pending = self.plain.pending.iter().any(|(other, ..)| *other == owner);
                assert!(lives || pending || self.plain.active.contains_key(&owner), "{key} belongs to nobody (job {owner})");
            } else {
                assert!(ttl > 0, "{key} stays for ever");
            }
        }
        let mut expected: BTreeMap<(String, Number), Vec<Number>> = BTreeMap::new();
        for ((list, owner), jobs) in &self.plain.lists {
            let what = match list {
                List::Dependents => "dependents",
                List::Children => "children",
                List::Continuations => "onComplete",
            };
            expected.insert((what.to_owned(), *owner), jobs.clone());
        }
        for ((what, _), jobs) in &mut lists {
            if what == "active" {
                jobs.sort_unstable();
            }
        }
        expected.extend(self.plain.active.iter().map(|(owner, jobs)| (("active".to_owned(), *owner), jobs.iter().copied().collect())));
        assert_eq!(lists, expected, "who waits for whom");
        self.count().await;
    }

    /// Every change was told once, and the counters say what the events say.
    async fn count(&mut self) {
        let events: Vec<(String, Hash)> = self.ask(&["XRANGE", "hero:events", "-", "+"]).await;
        let mut of_job: BTreeMap<&str, Vec<Status>> = BTreeMap::new();
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        // Each attempt starts once: one that is requeued leaves its number to the next, and a foreign one may end before it was seen.
        let mut started = BTreeSet::new();
        for (_, event) in &events {
            of_job.entry(&event["job"]).or_default().push(event["status"].parse().unwrap());
            *sums.entry(&event["status"]).or_default() += 1;
            started.extend((event["attempt"] != "0").then(|| (&event["job"], &event["attempt"])));
        }
        for (number, job) in self.plain.jobs.iter().enumerate() {
            assert_eq!(of_job.remove(job.id.as_str()).unwrap_or_default(), job.events, "the events of job {number}");
        }
        assert!(of_job.is_empty(), "events of nobody: {of_job:?}");
        sums.insert("started", started.len() as u64);
        let stats: Hash = self.ask(&["HGETALL", "hero:meta:queue:stats:osis"]).await;
        for what in ["started", "finished", "error"] {
            let counted = stats.get(what).map_or(0, |count| count.parse().unwrap());
            assert_eq!(counted, sums.get(what).copied().unwrap_or(0), "{what} are counted");
        }
        let made = self.plain.jobs.iter().filter(|job| job.made).count();
        assert_eq!(stats.get("created").map_or(0, |count| count.parse().unwrap()), made, "created are counted");
    }
}
