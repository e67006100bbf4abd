use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Maintenance;

const FUNCTION: Function = Function("prune");

/// The number of ids that one call checks.
const IDS_PER_CALL: usize = 256;

/// The position of a walk through the index of an hour. It begins with the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruning {
    /// The number of ids from the front that were checked.
    from: usize,
    /// The number of those whose jobs are gone.
    gone: usize,
    /// Whether the remaining ids are being moved.
    moves: bool,
}

impl Maintenance<'_> {
    /// Runs one step through the index of an hour, which removes ids whose job is gone. Returns the position to continue from, or nothing
    /// at the end.
    ///
    /// Such ids at the front are removed at once. Others stay until they are a quarter of those in the hour: then the walk goes through the
    /// whole list once more, which costs about 40 bytes of append-only file for each id that stays. No step depends on the length of the
    /// list.
    pub async fn prune(self, hour: &str, at: Pruning) -> Result<Option<Pruning>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.keys.index_of_hour(hour)).arg(if at.moves { "move" } else { "look" }).arg(at.from).arg(IDS_PER_CALL);
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
