use redis::Cmd;

use crate::model::JobId;

/// A question of a script that writes something. However often it is asked, because no answer came, it is done once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The job.
    pub job: JobId,
    /// The number of its claim.
    pub claim: u32,
    /// The number of the question among those of this claim.
    pub number: u32,
}

impl Question {
    /// Appends to a call which question it is about, as `once.lua` takes it.
    pub(super) fn add(question: Option<&Self>, call: &mut Cmd) {
        match question {
            Some(Self { job, claim, number }) => call.arg(job.as_str()).arg(format!("{claim}.{number}")),
            None => call.arg("").arg(""),
        };
    }
}
