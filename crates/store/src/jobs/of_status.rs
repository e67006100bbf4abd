use crate::Error;
use crate::value::Text;
use hero_model::JobId;

/// The place of a job among the jobs of its status: the time when it entered the index of an hour, in milliseconds, and its id.
pub(crate) type Since = (i64, JobId);

/// The result of a search among the jobs of a status.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OfStatus {
    /// Jobs that may pass, the newest first.
    pub(crate) jobs: Vec<Since>,
    /// The place to continue from; nothing at the end.
    pub(crate) next: Option<Since>,
}

impl OfStatus {
    /// Reads the answer of a function. Nothing: the function could not find all jobs.
    pub(crate) fn read(function: &'static str, answer: &[Text]) -> Result<Option<Self>, Error> {
        let since = |pair: &[Text]| Some((pair[0].parse()?, pair[1].parse()?));
        match answer {
            [word] if matches!(word.0.as_deref(), Some("partial" | "many")) => Ok(None),
            [_, time, id, jobs @ ..] => {
                let next = since(&[time.clone(), id.clone()]);
                Ok(Some(Self { jobs: jobs.chunks_exact(2).filter_map(since).collect(), next }))
            }
            _ => Err(Error::Reply { function, reply: answer.len().to_string() }),
        }
    }
}

/// Adds the start of a search to a call; nothing means the newest job.
pub(crate) fn add_since(call: &mut redis::Cmd, from: Option<&Since>) {
    match from {
        Some((time, id)) => call.arg(time).arg(id.as_str()),
        None => call.arg("").arg(""),
    };
}
