use super::unexpected;
use crate::store::codec::Text;
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("send_message");

/// What became of a message that was to go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageStored {
    /// It is stored, with this number.
    Stored(u32),
    /// So many wait already that it was not stored.
    Full,
    /// What lists them is no list, because somebody else wrote there.
    NoList,
    /// There is no number left for it.
    NoNumber,
}

impl Store {
    /// Stores a message that is to go out, with these fields.
    pub async fn send_message(&self, caller: u32, fields: &[(&str, String)]) -> Result<MessageStored, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(caller);
        for (field, value) in fields {
            call.arg(*field).arg(value);
        }
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let number = || answer.get(1).and_then(Text::parse);
        match answer.first().and_then(|word| word.0.as_deref()) {
            Some("stored") => number().map(MessageStored::Stored).ok_or_else(|| unexpected("send_message", &answer)),
            Some("full") => Ok(MessageStored::Full),
            Some("no list") => Ok(MessageStored::NoList),
            Some("numbers") => Ok(MessageStored::NoNumber),
            _ => Err(unexpected("send_message", &answer)),
        }
    }
}
