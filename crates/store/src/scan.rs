use std::collections::{BTreeSet, HashMap};

use redis::Pipeline;

use super::value::Text;
use super::{Error, Inner};
use crate::views::Health;

/// The number of members read at a time.
const MEMBERS_PER_READ: usize = 1000;
/// The most members of a set that are read for a list: foreign programs may add any number.
const MAX_MEMBERS: usize = 20_000;

impl Inner {
    /// Runs one step of SCAN, which reads about a thousand keys.
    pub(super) async fn scan_step(&self, cursor: u64, pattern: &str) -> Result<(u64, Vec<String>), Error> {
        if let Some(signpost) = self.signpost.as_ref().filter(|_| cursor == 0) {
            // SCAN names no key: a node that has lost the slot would silently find nothing.
            let _: u64 = self.commands.call(redis::cmd("EXISTS").arg(signpost)).await?;
        }
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(1000);
        let (next, keys): (u64, Vec<Text>) = self.commands.call(&scan).await?;
        Ok((next, keys.into_iter().filter_map(|key| key.0).collect()))
    }

    /// Returns the members of a set, each once: all of them, unless there are more than 20,000. A set that another program has spoilt
    /// counts as empty, which is logged.
    pub(super) async fn members(&self, set: &str) -> Result<BTreeSet<String>, Error> {
        let (mut members, mut cursor) = (BTreeSet::new(), 0);
        loop {
            let page: Vec<Text>;
            (cursor, page) = self.page_of(set, cursor).await?;
            members.extend(page.into_iter().filter_map(|member| member.0));
            if cursor == 0 || members.len() >= MAX_MEMBERS {
                return Ok(members);
            }
        }
    }

    /// Returns about a thousand members of a set, and the next cursor; 0 is the end.
    pub(super) async fn page_of<T: redis::FromRedisValue>(&self, set: &str, cursor: u64) -> Result<(u64, Vec<T>), Error> {
        self.unspoilt(self.commands.call(redis::cmd("SSCAN").arg(set).arg(cursor).arg("COUNT").arg(MEMBERS_PER_READ)).await)
    }

    /// Returns about a thousand fields of a hash and their values, and the next cursor; 0 is the end.
    pub(super) async fn fields_of(&self, hash: &str, cursor: u64) -> Result<(u64, Vec<(Text, Text)>), Error> {
        self.unspoilt(self.commands.call(redis::cmd("HSCAN").arg(hash).arg(cursor).arg("COUNT").arg(MEMBERS_PER_READ)).await)
    }

    /// Returns the recorded time offsets of jobs, by index: all of them, unless there are more than 20,000.
    pub(super) async fn noted_time_offsets(&self) -> Result<HashMap<String, Text>, Error> {
        let (mut noted, mut cursor) = (HashMap::new(), 0);
        loop {
            let page: Vec<(Text, Text)>;
            (cursor, page) = self.fields_of(&self.keys.time_offsets(), cursor).await?;
            noted.extend(page.into_iter().filter_map(|(field, text)| Some((field.0?, text))));
            if cursor == 0 || noted.len() >= MAX_MEMBERS {
                return Ok(noted);
            }
        }
    }
}

impl Health<'_> {
    /// Returns warnings about sets that lists do not show completely.
    pub async fn overfull(self) -> Result<Vec<String>, Error> {
        let keys = &self.0.keys;
        let sets = [keys.actors(), keys.queues(), keys.fair(), keys.paused(), keys.types(), keys.hours()];
        let mut sizes = Pipeline::with_capacity(sets.len() + 1);
        for set in &sets {
            sizes.cmd("SCARD").arg(set);
        }
        sizes.cmd("HLEN").arg(keys.time_offsets());
        let read: Vec<String> = sets.into_iter().chain([keys.time_offsets()]).collect();
        let sizes: Vec<usize> = self.0.each_unspoilt(&read, &mut sizes).await?;
        let overfull = read.iter().zip(sizes).filter(|(_, size)| *size > MAX_MEMBERS);
        let words = |(set, _)| format!("{set} has more than {MAX_MEMBERS} members, so lists leave some out; somebody else writes into it");
        Ok(overfull.map(words).collect())
    }
}
