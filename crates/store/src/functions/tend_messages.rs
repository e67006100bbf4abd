use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Messages;
use hero_model::MessageKey;

const FUNCTION: Function = Function("tend_messages");

/// The state of the lists of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tended {
    /// Whether anything changed.
    pub moved: bool,
    /// The number of jobs from messages whose results are still to be sent.
    pub unanswered: u64,
    /// The number of incoming messages that were not fetched.
    pub unread: u64,
    /// The messages of whose stop the other side is to be told now.
    pub stops: Vec<MessageKey>,
    /// The messages that this node is sending, the newest first.
    pub in_hand: Vec<MessageKey>,
}

impl Messages<'_> {
    /// Advances messages, and takes some for a node to send, which sends `most` at a time at most.
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
