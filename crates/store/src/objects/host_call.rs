use redis::Cmd;

use crate::Error;
use hero_model::JobId;

/// The identity of a host call that writes. If no answer came and the call is repeated, it is still executed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCallId {
    /// The job.
    pub job: JobId,
    /// The number of its claim.
    pub claim: u32,
    /// The number of the host call within this claim.
    pub number: u32,
}

/// The outcome of a host call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostCallResult<T> {
    /// It was executed, now or at an earlier try.
    Done(T),
    /// The claim does not hold the job any more. The call did nothing.
    Lost,
    /// A later host call of the claim was answered, so nobody waits for this one. The call did nothing.
    Over,
}

impl HostCallResult<bool> {
    /// Reads the reply of a function that says whether something existed.
    pub(crate) fn read(function: &'static str, reply: &str) -> Result<Self, Error> {
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
    /// Appends the identity of the host call to a call, in the format of `once.lua`.
    pub(crate) fn add(host_call: Option<&Self>, call: &mut Cmd) {
        match host_call {
            Some(Self { job, claim, number }) => call.arg(job.as_str()).arg(format!("{claim}.{number}")),
            None => call.arg("").arg(""),
        };
    }
}
