use crate::network::plain_connection::PlainConnection;
use crate::views::Conveyor;
use crate::{ConveyorKeys, Endpoint, Error};
use hero_model::Name;

/// A producer of conveyor jobs, which adds them to its Redis. Cheap to clone.
#[derive(Clone)]
pub struct ConveyorProducer(PlainConnection);

/// The place to which an element is added.
#[derive(Debug, Clone, Copy)]
pub enum AddTo {
    /// The front of a list.
    List,
    /// A set.
    Set,
    /// A sorted set, with this score.
    Sorted(f64),
}

impl ConveyorProducer {
    /// Connects to the database that the endpoint names.
    pub async fn connect(endpoint: &Endpoint) -> Result<Self, Error> {
        Ok(Self(PlainConnection::connect(endpoint).await?))
    }

    /// Adds an element at a key.
    pub async fn add(&self, to: AddTo, key: &str, element: &[u8]) -> Result<(), Error> {
        let (command, score) = match to {
            AddTo::List => ("LPUSH", None),
            AddTo::Set => ("SADD", None),
            AddTo::Sorted(score) => ("ZADD", Some(score)),
        };
        self.0.call::<i64>(redis::cmd(command).arg(key).arg(score).arg(element)).await.map(drop)
    }
}

/// One job in a list of children or continuations, with the data that is needed to queue it or to end it.
#[derive(Debug, Clone)]
pub struct Relative {
    /// The element itself.
    pub bytes: Vec<u8>,
    /// The id of the job; none if the element is no job that can be taken.
    pub uuid: Option<String>,
    /// The name of the queue; none if the element is no job.
    pub queue: Option<String>,
    /// The time from which it may run, in epoch seconds.
    pub due: Option<f64>,
    /// The element of the same job as failed, for when the job that it waits for fails.
    pub failed: Vec<u8>,
}

/// Reads of the conveyor layout. Functions take elements.
impl Conveyor<'_> {
    /// The keys of conveyor clients in this context.
    pub fn keys(self, namespace: Option<&Name>) -> ConveyorKeys {
        self.0.keys.conveyor(namespace)
    }

    /// Returns the next elements of a queue in the order in which they are taken. A key that is no list counts as empty, which is logged.
    pub async fn peek(self, keys: &ConveyorKeys, queue: &str, limit: usize) -> Result<Vec<Vec<u8>>, Error> {
        let from = -i64::try_from(limit).unwrap_or(i64::MAX);
        let call: Result<Vec<Vec<u8>>, Error> = self.0.commands.call(redis::cmd("LRANGE").arg(keys.queue(queue)).arg(from).arg(-1)).await;
        let mut elements = self.0.unspoilt(call)?;
        elements.reverse();
        Ok(elements)
    }

    /// Returns the scheduled elements whose time has come. A key of another type counts as empty, which is logged.
    pub async fn due(self, keys: &ConveyorKeys, limit: usize) -> Result<Vec<Vec<u8>>, Error> {
        let now = self.0.clock.now().as_millis();
        let now = format!("{}.{:03}", now / 1000, now % 1000);
        let mut due = redis::cmd("ZRANGEBYSCORE");
        due.arg(keys.scheduled()).arg("-inf").arg(now).arg("LIMIT").arg(0).arg(limit);
        self.0.unspoilt(self.0.commands.call(&due).await)
    }

    /// Returns ends of conveyor jobs that are still to be processed. Other programs may have written any entry there.
    pub async fn ends(self, limit: usize) -> Result<Vec<Vec<u8>>, Error> {
        // In order of arrival. No entry waits for its time, so a clock that was set back delays none.
        let mut ends = redis::cmd("ZRANGEBYSCORE");
        ends.arg(self.0.keys.conveyor_ends()).arg("-inf").arg("+inf").arg("LIMIT").arg(0).arg(limit);
        self.0.unspoilt(self.0.commands.call(&ends).await)
    }

    /// Deletes an entry that names no end.
    pub async fn forget_end(self, entry: &[u8]) -> Result<(), Error> {
        self.0.commands.call(redis::cmd("ZREM").arg(self.0.keys.conveyor_ends()).arg(entry)).await
    }

    /// Scans one step of the keys. Returns the jobs that have lists of children or continuations, and the cursor of the next step; 0 is the
    /// start.
    pub async fn scan(self, keys: &ConveyorKeys, cursor: u64, count: usize) -> Result<(u64, Vec<String>), Error> {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(keys.relations_pattern()).arg("COUNT").arg(count);
        let (next, found): (u64, Vec<Vec<u8>>) = self.0.commands.call(&scan).await?;
        let text = found.iter().filter_map(|key| std::str::from_utf8(key).ok());
        let mut ids: Vec<String> = text.filter_map(|key| keys.parse_relations(key)).map(ToOwned::to_owned).collect();
        ids.sort_unstable();
        ids.dedup();
        Ok((next, ids))
    }
}
