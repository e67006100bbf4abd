use super::plain_connection::PlainConnection;
use super::{ConveyorKeys, Endpoint, Error};
use crate::views::Conveyor;
use hero_model::Name;

/// What a producer of conveyor jobs does in its Redis: it adds. Cheap to clone.
#[derive(Clone)]
pub struct ConveyorProducer(PlainConnection);

/// What an element is added to.
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

    /// Adds an element to what is at a key.
    pub async fn add(&self, to: AddTo, key: &str, element: &[u8]) -> Result<(), Error> {
        let (command, score) = match to {
            AddTo::List => ("LPUSH", None),
            AddTo::Set => ("SADD", None),
            AddTo::Sorted(score) => ("ZADD", Some(score)),
        };
        self.0.call::<i64>(redis::cmd(command).arg(key).arg(score).arg(element)).await.map(drop)
    }
}

/// One job in a list of children or continuations: what is needed to put it into its queue or to end it.
#[derive(Debug, Clone)]
pub struct Relative {
    /// The element itself.
    pub bytes: Vec<u8>,
    /// Its id; none if the element is no job that can be taken.
    pub uuid: Option<String>,
    /// The name of its queue; none if the element is no job.
    pub queue: Option<String>,
    /// When it may run, in epoch seconds.
    pub due: Option<f64>,
    /// The job as it fails when the one it waits for does.
    pub failed: Vec<u8>,
}

/// Reads of the conveyor layout. What takes something is a function.
impl Conveyor<'_> {
    /// The keys of conveyor clients in this context.
    pub fn keys(self, namespace: Option<&Name>) -> ConveyorKeys {
        self.0.keys.conveyor(namespace)
    }

    /// The next elements of a queue, the first to take first. A key that is no list has none, which the log says.
    pub async fn peek(self, keys: &ConveyorKeys, queue: &str, limit: usize) -> Result<Vec<Vec<u8>>, Error> {
        let from = -i64::try_from(limit).unwrap_or(i64::MAX);
        let call: Result<Vec<Vec<u8>>, Error> = self.0.commands.call(redis::cmd("LRANGE").arg(keys.queue(queue)).arg(from).arg(-1)).await;
        let mut elements = self.0.unspoilt(call)?;
        elements.reverse();
        Ok(elements)
    }

    /// Scheduled elements whose time has come: none of a key of another type, which the log says.
    pub async fn due(self, keys: &ConveyorKeys, limit: usize) -> Result<Vec<Vec<u8>>, Error> {
        let now = self.0.clock.now().as_millis();
        let now = format!("{}.{:03}", now / 1000, now % 1000);
        let mut due = redis::cmd("ZRANGEBYSCORE");
        due.arg(keys.scheduled()).arg("-inf").arg(now).arg("LIMIT").arg(0).arg(limit);
        self.0.unspoilt(self.0.commands.call(&due).await)
    }

    /// Ends of conveyor jobs that are to be worked off. Other programs may have written there whatever they want.
    pub async fn ends(self, limit: usize) -> Result<Vec<Vec<u8>>, Error> {
        // In the order in which they came. None waits for its time, and a clock that was set back keeps none.
        let mut ends = redis::cmd("ZRANGEBYSCORE");
        ends.arg(self.0.keys.conveyor_ends()).arg("-inf").arg("+inf").arg("LIMIT").arg(0).arg(limit);
        self.0.unspoilt(self.0.commands.call(&ends).await)
    }

    /// Forgets an entry that names no end.
    pub async fn forget_end(self, entry: &[u8]) -> Result<(), Error> {
        self.0.commands.call(redis::cmd("ZREM").arg(self.0.keys.conveyor_ends()).arg(entry)).await
    }

    /// One step through all keys: the jobs that have lists of children or continuations, and where the next step begins; 0 is the start.
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
