use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Messages;

const FUNCTION: Function = Function("send_message");
/// The most searches for a number. Each call skips half a million numbers that others have taken.
const MOST_LOOKS: usize = 100;

/// The result of storing an outgoing message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageStored {
    /// It is stored, with this number.
    Stored(u32),
    /// Too many messages wait already.
    Full,
    /// The key that lists them is no list, because another program wrote there.
    NoList,
    /// There is no number left for it.
    NoNumber,
}

impl Messages<'_> {
    /// Stores an outgoing message with these fields.
    pub async fn send(self, caller: u32, fields: &[(&str, String)]) -> Result<MessageStored, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.look()).arg(caller);
        for (field, value) in fields {
            call.arg(*field).arg(value);
        }
        let answer = self.numbered(&call).await?;
        let number = || answer.get(1).and_then(Text::parse);
        match answer.first().and_then(|word| word.0.as_deref()) {
            Some("stored") => number().map(MessageStored::Stored).ok_or_else(|| unexpected("send_message", &answer)),
            Some("full") => Ok(MessageStored::Full),
            Some("no list") => Ok(MessageStored::NoList),
            Some("none" | "later") => Ok(MessageStored::NoNumber),
            _ => Err(unexpected("send_message", &answer)),
        }
    }

    /// Repeats a call of a function that assigns numbers until it finds numbers that others have not taken, or gives up.
    pub(super) async fn numbered(self, call: &redis::Cmd) -> Result<Vec<Text>, Error> {
        let mut looks = 1;
        loop {
            let answer: Vec<Text> = self.0.commands.function(call).await?;
            let is_later = answer.first().is_some_and(|word| word.0.as_deref() == Some("later"));
            if !is_later || looks == MOST_LOOKS {
                return Ok(answer);
            }
            looks += 1;
        }
    }
}
