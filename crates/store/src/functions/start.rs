use std::sync::Weak;

use super::unexpected;
use crate::batch::{Batch, Request, Weight};
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Jobs;
use crate::{Error, Inner};
use hero_model::{JobId, Status};

const FUNCTION: Function = Function("start");

/// The result of starting a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Started {
    /// It is in its queue, or waits for its time or for others.
    OnItsWay(Status),
    /// Only a created job can be started.
    Illegal(Status),
    /// There is no such job.
    Missing,
    /// The queue is full, with this many jobs.
    Full(u64),
    /// The key of the queue is no list, because another program wrote there.
    NoList,
}

impl Jobs<'_> {
    /// Starts a created job.
    pub async fn start(self, job: &JobId) -> Result<Started, Error> {
        self.0.start.ask(job.clone()).await
    }
}

pub(crate) fn start_batch(store: Weak<Inner>) -> Batch<JobId, Started> {
    Batch::new(move |jobs| {
        let store = store.clone();
        async move {
            let answers = match store.upgrade() {
                Some(store) => store.start_all(&jobs).await,
                None => Err(Error::Closed),
            };
            (jobs, answers.map(|answers| answers.into_iter().map(Some).collect()))
        }
    })
}

impl Request for JobId {
    fn weight(&self) -> Weight {
        Weight::default()
    }
}

impl Inner {
    async fn start_all(&self, jobs: &[JobId]) -> Result<Vec<Started>, Error> {
        let mut call = self.call(&FUNCTION);
        call.arg(self.bounds.queue_length());
        for job in jobs {
            call.arg(job.as_str());
        }
        let answers: Vec<Vec<Text>> = self.commands.function(&call).await?;
        self.wake_ups.wake_all(answers.iter().filter_map(|answer| answer.get(2)?.0.as_ref()));
        answers.into_iter().map(started).collect()
    }
}

fn started(answer: Vec<Text>) -> Result<Started, Error> {
    let second = answer.get(1).and_then(|text| text.0.as_deref());
    let status = || Status::parse(second).unwrap_or(Status::Started);
    match answer.first().and_then(|text| text.0.as_deref()) {
        Some("started") => Ok(Started::OnItsWay(status())),
        Some("illegal") => Ok(Started::Illegal(status())),
        Some("missing") => Ok(Started::Missing),
        Some("full") => Ok(second.and_then(|length| length.parse().ok()).map_or(Started::NoList, Started::Full)),
        _ => Err(unexpected("start", &answer)),
    }
}
