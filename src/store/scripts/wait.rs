use std::sync::LazyLock;

use redis::{Pipeline, RedisResult};

use crate::model::{JobId, Status};
use crate::store::codec::{Look, Text, look};
use crate::store::connection::Script;
use crate::store::{Error, Store};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("wait.lua")));

/// The values of a job in an answer.
const FIELDS: usize = 13;

impl Store {
    /// How a job ended, if it has. If not, this server is told when it does.
    pub async fn wait(&self, job: &JobId) -> Result<Look, Error> {
        let mut call = self.0.call(&SCRIPT);
        call.arg(job.as_str()).arg("");
        let answer: Vec<Text> = self.0.commands.script(&SCRIPT, &call).await?;
        if answer.last().is_some_and(|last| answer.len() > FIELDS && last.0.as_deref() == Some("new")) {
            self.notice(std::slice::from_ref(job)).await?;
        }
        Ok(look(job, answer))
    }

    /// How a job ended, if it has.
    pub async fn look(&self, job: &JobId) -> Result<Look, Error> {
        let mut call = self.0.call(&SCRIPT);
        call.arg(job.as_str()).arg("only look");
        Ok(look(job, self.0.commands.script(&SCRIPT, &call).await?))
    }

    /// Those of some jobs that have ended or are gone, and how.
    ///
    /// One command tells of most jobs that they have not, and costs Redis a fiftieth of the script.
    pub async fn look_for_ends(&self, jobs: &[JobId]) -> Result<Vec<(JobId, Look)>, Error> {
        let mut pipeline = Pipeline::with_capacity(jobs.len());
        for job in jobs {
            pipeline.cmd("HGET").arg(self.keys().job(job)).arg("status");
        }
        // A key that is no hash is no job.
        pipeline.ignore_errors();
        let statuses: Vec<RedisResult<Text>> = if jobs.is_empty() { Vec::new() } else { self.0.commands.each(&pipeline).await? };
        let is_open = |status: RedisResult<Text>| {
            let word = status.ok().and_then(Text::some);
            word.is_some_and(|word| Status::parse(Some(&word)).is_some_and(|status| !status.is_final()))
        };
        let doubtful: Vec<JobId> =
            jobs.iter().zip(statuses).filter(|(_, status)| !is_open(status.clone())).map(|(job, _)| job.clone()).collect();
        let looks = self.look_at_all(&doubtful).await?;
        Ok(doubtful.into_iter().zip(looks).filter(|(_, look)| !matches!(look, Look::Open(_))).collect())
    }

    async fn look_at_all(&self, jobs: &[JobId]) -> Result<Vec<Look>, Error> {
        let Some((first, rest)) = jobs.split_first() else { return Ok(Vec::new()) };
        // The first call makes sure that Redis has the script.
        let mut looks = vec![self.look(first).await?];
        let mut pipeline = Pipeline::with_capacity(rest.len());
        for job in rest {
            let mut call = self.0.call(&SCRIPT);
            call.arg(job.as_str()).arg("only look");
            pipeline.add_command(call);
        }
        if !rest.is_empty() {
            let answers: Vec<Vec<Text>> = self.0.commands.pipeline(&pipeline).await?;
            looks.extend(rest.iter().zip(answers).map(|(job, answer)| look(job, answer)));
        }
        Ok(looks)
    }

    /// Tells those who wait here how a job ended, as its hash says. A failure is left to the sweep.
    pub(in crate::store) fn settle_by_reading(&self, job: JobId) {
        if !self.inbox().awaits(&job) {
            return;
        }
        let (store, audience) = (self.clone(), self.inbox().audience());
        tokio::spawn(async move {
            match store.look(&job).await {
                Ok(Look::Open(_)) => {}
                Ok(look) => {
                    store.inbox().deliver(&job, &look, audience);
                }
                Err(error) => tracing::debug!(%job, %error, "could not read the end of a job, the sweep will"),
            }
        });
    }
}
