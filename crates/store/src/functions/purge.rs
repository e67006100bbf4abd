use crate::Error;
use crate::library::fcall::Function;
use crate::views::Contexts;

const FUNCTION: Function = Function("purge");
/// The number of keys that one call deletes.
const KEYS_PER_CALL: usize = 500;

impl Contexts<'_> {
    /// Deletes a part of the remaining keys of this context, which is being deleted: about a thousand keys after `cursor`. Returns the
    /// cursor to continue from; 0 is the end.
    ///
    /// Only keys of hero and of the layouts that it serves are deleted. A database may hold keys of other programs.
    pub async fn purge(self, cursor: u64) -> Result<(u64, u64), Error> {
        let (next, keys) = self.0.scan_step(cursor, &format!("{}*", self.0.keys.prefix().replace(['[', ']', '?', '*', '\\'], "?"))).await?;
        let own: Vec<String> = keys.into_iter().filter(|key| self.0.keys.is_own(key)).collect();
        let mut gone = 0;
        for part in own.chunks(KEYS_PER_CALL) {
            let mut call = self.0.call(&FUNCTION);
            call.arg(part);
            gone += u64::try_from(self.0.commands.function::<i64>(&call).await?).unwrap_or(0);
        }
        Ok((next, gone))
    }
}
