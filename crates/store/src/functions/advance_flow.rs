use super::unexpected;
use crate::Error;
use crate::codec::Text;
use crate::fcall::Function;
use crate::views::Flows;
use hero_model::{FlowId, FlowStatus};

const FUNCTION: Function = Function("advance_flow");

/// What is done with all jobs of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowAction {
    /// Nothing: they are all there.
    Stored,
    /// Those that are there are deleted: they will not all be.
    GiveUp,
    /// They are started.
    Start,
    /// They are stopped.
    Stop,
    /// Those that ended in error run again.
    Retry,
    /// They are deleted, and the flow with them.
    Delete,
    /// What was begun goes on.
    On,
}

impl FlowAction {
    const fn word(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::GiveUp => "give_up",
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Retry => "retry",
            Self::Delete => "delete",
            Self::On => "on",
        }
    }
}

/// What came of a round with the jobs of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advanced {
    /// There is nothing more to do.
    Done(FlowStatus),
    /// There is more to do: call with [`FlowAction::On`].
    More(FlowStatus),
    /// There is more to do, but not now: a queue is full, or the flow ends again so soon. The servers go on.
    Later(FlowStatus),
    /// There is no such flow.
    Missing,
    /// The status of the flow does not allow it.
    Illegal(FlowStatus),
    /// Something else is being done with it: this.
    Busy(String),
}

impl Flows<'_> {
    /// Does something with the jobs of a flow, up to 128 of them.
    pub async fn advance(self, flow: FlowId, action: FlowAction) -> Result<Advanced, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(flow.0).arg(action.word()).arg(self.0.bounds.queue_length());
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let text = |at: usize| answer.get(at).and_then(|text| text.0.as_deref());
        // What somebody else wrote there is a flow that goes on.
        let status = || text(1).and_then(FlowStatus::parse).unwrap_or(FlowStatus::Started);
        Ok(match text(0) {
            Some("done") => Advanced::Done(status()),
            Some("more") => Advanced::More(status()),
            Some("later") => Advanced::Later(status()),
            Some("missing") => Advanced::Missing,
            Some("illegal") => Advanced::Illegal(status()),
            Some("busy") => Advanced::Busy(text(1).unwrap_or_default().to_owned()),
            _ => return Err(unexpected("advance_flow", &answer)),
        })
    }
}
