use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Flows;
use hero_model::{FlowId, FlowStatus};

const FUNCTION: Function = Function("advance_flow");

/// An action on all jobs of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowAction {
    /// Record that all jobs are stored.
    Stored,
    /// Delete the jobs stored so far, because not all of them will be.
    GiveUp,
    /// Start the jobs.
    Start,
    /// Stop the jobs.
    Stop,
    /// Run the jobs again that ended in error.
    Retry,
    /// Delete the jobs and the flow.
    Delete,
    /// Continue the current action.
    Continue,
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
            Self::Continue => "on",
        }
    }
}

/// The result of one round over the jobs of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advanced {
    /// The action is complete.
    Done(FlowStatus),
    /// The action is not complete: call again with [`FlowAction::Continue`].
    More(FlowStatus),
    /// The action is not complete, but must wait: a queue is full, or the flow has just ended. The servers continue it.
    Later(FlowStatus),
    /// There is no such flow.
    Missing,
    /// The status of the flow does not allow it.
    Illegal(FlowStatus),
    /// Another action on the flow is under way: this one.
    Busy(String),
}

impl Flows<'_> {
    /// Applies an action to the jobs of a flow, up to 128 of them.
    pub async fn advance(self, flow: FlowId, action: FlowAction) -> Result<Advanced, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(flow.0).arg(action.word()).arg(self.0.bounds.queue_length());
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let text = |at: usize| answer.get(at).and_then(|text| text.0.as_deref());
        // A value that another program wrote counts as a started flow.
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
