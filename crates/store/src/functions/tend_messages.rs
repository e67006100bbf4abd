use super::unexpected;
use crate::Error;
use crate::codec::Text;
use crate::fcall::Function;
use crate::views::Messages;
use hero_model::MessageKey;

const FUNCTION: Function = Function("tend_messages");

/// What stands in the lists of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tended {
    /// Whether something happened.
    pub moved: bool,
    /// How many jobs that came by a message are still to be answered.
    pub unanswered: u64,
    /// How many messages have come that nobody fetched.
    pub unread: u64,
    /// Those of whose stop the other side is to be told now.
    pub stops: Vec<MessageKey>,
    /// What this node has in hand, the newest first.
    pub in_hand: Vec<MessageKey>,
}

impl Messages<'_> {
    /// Brings messages on, and takes some to be sent by a node, which has `most` in hand at most.
    pub async fn tend(self, node: &str, most: usize) -> Result<Tended, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(node).arg(most);
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let [moved, unanswered, unread, stops, rest @ ..] = answer.as_slice() else { return Err(unexpected("tend_messages", &answer)) };
        let stops = stops.parse::<usize>().filter(|stops| *stops <= rest.len());
        let (stops, in_hand) = rest.split_at(stops.ok_or_else(|| unexpected("tend_messages", &answer))?);
        Ok(Tended {
            moved: moved.parse() == Some(1),
            unanswered: unanswered.parse().unwrap_or(0),
            unread: unread.parse().unwrap_or(0),
            stops: stops.iter().filter_map(Text::parse).collect(),
            in_hand: in_hand.iter().filter_map(Text::parse).collect(),
        })
    }
}
