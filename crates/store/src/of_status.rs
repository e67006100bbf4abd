use super::Error;
use super::codec::Text;
use hero_model::JobId;

/// Where a job stands among others of its status: since when it is in the index of an hour, in milliseconds, and its id.
pub(super) type Since = (i64, JobId);

/// What a look through the jobs of a status found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OfStatus {
    /// Jobs that may pass, the newest first.
    pub(super) jobs: Vec<Since>,
    /// Where to go on; nothing at the end.
    pub(super) next: Option<Since>,
}

impl OfStatus {
    /// What a function answered. Nothing: it could not find all.
    pub(super) fn read(function: &'static str, answer: &[Text]) -> Result<Option<Self>, Error> {
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

/// Adds to a call where a look begins; nothing is the newest job.
pub(super) fn add_since(call: &mut redis::Cmd, from: Option<&Since>) {
    match from {
        Some((time, id)) => call.arg(time).arg(id.as_str()),
        None => call.arg("").arg(""),
    };
}
