use super::unexpected;
use crate::Error;
use crate::codec::Text;
use crate::fcall::Function;
use crate::views::Maintenance;

const FUNCTION: Function = Function("prune");

/// How many ids one call looks at.
const CHUNK: usize = 256;

/// How far the index of an hour was gone through. It begins with the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruning {
    /// How many ids from the front were looked at.
    from: usize,
    /// How many of them are of jobs that are gone.
    gone: usize,
    /// Whether what stays is being moved.
    moves: bool,
}

impl Maintenance<'_> {
    /// One step through the index of an hour, which takes ids out whose job is gone. Gives where to go on, or nothing at the end.
    ///
    /// At the front they go at once. Others stay until they are a quarter of those in the hour: then the whole list is gone through once more,
    /// which costs about 40 bytes of append-only file for each id that stays. No step depends on how long the list is.
    pub async fn prune(self, hour: &str, at: Pruning) -> Result<Option<Pruning>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.keys.index_of_hour(hour)).arg(if at.moves { "move" } else { "look" }).arg(at.from).arg(CHUNK);
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let number = |at: usize| answer.get(at).and_then(Text::parse::<usize>);
        let (from, gone) = (number(1).unwrap_or(0), at.gone + number(2).unwrap_or(0));
        let moving = Pruning { from: 0, gone: 0, moves: true };
        match answer.first().and_then(|word| word.0.as_deref()) {
            Some("look") => Ok(Some(Pruning { from, gone, moves: false })),
            Some("move") => Ok(Some(moving)),
            Some("end") => Ok((gone > 0 && gone * 4 >= from).then_some(moving)),
            _ => Err(unexpected("prune", &answer)),
        }
    }
}
