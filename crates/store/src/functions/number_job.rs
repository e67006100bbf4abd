use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Jobs;
use hero_model::JobId;

const FUNCTION: Function = Function("number_job");

/// The result of showing a job in the runner layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Numbered {
    /// It is visible under this name, `job:{caller}:{n}`.
    Named(String),
    /// There is no such job.
    Missing,
    /// It has this other layout already, and a job has only one.
    Other(String),
    /// There is no number left for it.
    NoNumber,
    /// Other programs have taken so many numbers that the next call must continue the search.
    Later,
}

impl Jobs<'_> {
    /// Makes a job visible in the runner layout, too.
    pub async fn number(self, job: &JobId) -> Result<Numbered, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(job.as_str());
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let text = |at: usize| answer.get(at).and_then(|text| text.0.as_deref());
        match (text(0), text(1)) {
            (Some("named"), Some(name)) => Ok(Numbered::Named(name.to_owned())),
            (Some("other"), Some(layout)) => Ok(Numbered::Other(layout.to_owned())),
            (Some("missing"), _) => Ok(Numbered::Missing),
            (Some("none"), _) => Ok(Numbered::NoNumber),
            (Some("later"), _) => Ok(Numbered::Later),
            _ => Err(unexpected("number_job", &answer)),
        }
    }
}
