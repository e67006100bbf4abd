use redis::Cmd;

use super::Error;
use hero_model::JobId;

/// A host call of a script that writes something. However often it is asked, because no answer came, it is done once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCallId {
    /// The job.
    pub job: JobId,
    /// The number of its claim.
    pub claim: u32,
    /// The number of the host call among those of this claim.
    pub number: u32,
}

/// What came of what a script had done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked<T> {
    /// It was done, now or when it was asked before.
    Done(T),
    /// The claim does not hold the job any more. Nothing was done.
    Lost,
    /// A later host call of the claim was answered, so nobody waits for this one. Nothing was done.
    Over,
}

impl Asked<bool> {
    /// Reads the reply of a function that says whether there was something.
    pub(super) fn read(function: &'static str, reply: &str) -> Result<Self, Error> {
        match reply {
            "1" => Ok(Self::Done(true)),
            "0" => Ok(Self::Done(false)),
            "lost" => Ok(Self::Lost),
            "over" => Ok(Self::Over),
            reply => Err(Error::Reply { function, reply: format!("{reply:?}") }),
        }
    }
}

impl HostCallId {
    /// Appends to a call which host call it is about, as `once.lua` takes it.
    pub(super) fn add(host_call: Option<&Self>, call: &mut Cmd) {
        match host_call {
            Some(Self { job, claim, number }) => call.arg(job.as_str()).arg(format!("{claim}.{number}")),
            None => call.arg("").arg(""),
        };
    }
}
