use super::unexpected;
use crate::library::fcall::Function;
use crate::views::Conveyor;
use crate::{ConveyorKeys, Error};
use hero_model::{JobId, Status};

const FUNCTION: Function = Function("read_conveyor_end");

/// The data about the end of a conveyor job.
#[derive(Debug, Clone)]
pub struct ConveyorEnd {
    /// The current status of the job; nothing if it is gone, or never ran.
    pub status: Option<Status>,
    /// The error, or an empty text.
    pub error: String,
    /// The number of failed attempts.
    pub failures: i32,
    /// The id of its parent, as far as its hash names one, or an empty text.
    pub parent: String,
    /// The element of the job, until the job is closed.
    pub bytes: Option<Vec<u8>>,
    /// The next of its children, in order.
    pub children: Vec<Vec<u8>>,
    /// The next of its continuations.
    pub continuations: Vec<Vec<u8>>,
}

impl Conveyor<'_> {
    /// Reads a conveyor job that has ended, and at most `limit` of its children and of its continuations.
    pub async fn read_end(self, keys: &ConveyorKeys, id: &JobId, limit: usize) -> Result<ConveyorEnd, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(keys.prefix()).arg(id.as_str()).arg(limit);
        let answer: Vec<Vec<u8>> = self.0.commands.function(&call).await?;
        let mut answer = answer.into_iter();
        let mut text = || Some(String::from_utf8_lossy(&answer.next()?).into_owned());
        let fixed = (|| Some((text()?, text()?, text()?, text()?)))();
        let (Some((status, error, failures, parent)), Some(bytes), Some(number)) = (fixed, answer.next(), answer.next()) else {
            return Err(unexpected("read_conveyor_end", &"too little"));
        };
        let number = String::from_utf8_lossy(&number).parse().map_err(|_| unexpected("read_conveyor_end", &number))?;
        Ok(ConveyorEnd {
            status: Status::parse(Some(&status).filter(|status| !status.is_empty()).map(String::as_str)).filter(|_| !status.is_empty()),
            error,
            failures: failures.parse().unwrap_or(0),
            parent,
            bytes: Some(bytes).filter(|bytes| !bytes.is_empty()),
            children: answer.by_ref().take(number).collect(),
            continuations: answer.collect(),
        })
    }
}
