use redis::Pipeline;

use super::attempts::{all, earlier};
use super::codec::job;
use crate::Error;
use crate::value::Text;
use crate::views::Jobs;
use hero_model::{Attempt, Job, JobId, Status, Timestamp};
use hero_service::away;

/// The number of children among which open ones are looked for, roughly.
const CHILDREN_LOOKED_AT: usize = 128;

impl Jobs<'_> {
    /// Returns a job, if it exists.
    pub async fn get(self, id: &JobId) -> Result<Option<Job>, Error> {
        let fields = self.0.hash(&self.0.keys.job(id)).await?;
        if fields.is_empty() {
            return Ok(None);
        }
        let earlier = fields.0.get("attempts").map(earlier).unwrap_or_default();
        let (of, bytes) = (id.clone(), fields.0.get("env_vars").map_or(0, Text::bytes));
        let job = away(bytes, move || job(&of, fields.0)).await.ok_or(Error::Closed)?;
        Ok(Some(Job { attempts: all(earlier, &job), ..job }))
    }

    /// Returns the attempts of a job that was read, including the one that runs or ran last: at most the newest 17.
    pub async fn attempts(self, job: &Job) -> Result<Vec<Attempt>, Error> {
        Ok(all(self.earlier_attempts(&job.job_id).await?, job))
    }

    /// Returns the ends of the attempts that were followed by others, at most the newest 16.
    pub(crate) async fn earlier_attempts(self, id: &JobId) -> Result<Vec<Attempt>, Error> {
        let text: Text = self.0.commands.call(redis::cmd("HGET").arg(self.0.keys.job(id)).arg("attempts")).await?;
        Ok(earlier(&text))
    }

    /// Returns whether each of these jobs exists, in the same order.
    pub async fn exist(self, ids: &[JobId]) -> Result<Vec<bool>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut pipeline = Pipeline::with_capacity(ids.len());
        for id in ids {
            pipeline.cmd("EXISTS").arg(self.0.keys.job(id));
        }
        self.0.commands.pipeline(&pipeline).await
    }

    /// Returns the caller that created each job; an empty text if nobody signed or another program has spoilt the key, and nothing for a
    /// job that is gone.
    pub async fn callers(self, jobs: &[JobId]) -> Result<Vec<Option<String>>, Error> {
        let (mut pipeline, mut keys) = (Pipeline::with_capacity(2 * jobs.len()), Vec::with_capacity(2 * jobs.len()));
        for job in jobs {
            let key = self.0.keys.job(job);
            pipeline.cmd("EXISTS").arg(&key).cmd("HGET").arg(&key).arg("caller_id");
            keys.extend([key.clone(), key]);
        }
        let answers: Vec<Text> = self.0.each_unspoilt(&keys, &mut pipeline).await?;
        let of = |answer: &[Text]| (answer[0].parse() == Some(1)).then(|| answer[1].0.clone().unwrap_or_default());
        Ok(answers.chunks_exact(2).map(of).collect())
    }

    /// Returns the statuses of jobs; nothing for a job that is gone.
    pub async fn statuses(self, jobs: &[JobId]) -> Result<Vec<Option<Status>>, Error> {
        let mut pipeline = Pipeline::with_capacity(jobs.len());
        for job in jobs {
            pipeline.cmd("HMGET").arg(self.0.keys.job(job)).arg("status").arg("script");
        }
        let keys: Vec<String> = jobs.iter().map(|job| self.0.keys.job(job)).collect();
        let answers: Vec<(Text, Text)> = self.0.each_unspoilt(&keys, &mut pipeline).await?;
        let status = |answer: (Text, Text)| match answer {
            (Text(Some(word)), _) => Status::parse(Some(&word)),
            // A hash without a status counts as dispatched.
            (Text(None), Text(script)) => script.map(|_| Status::Dispatched),
        };
        Ok(answers.into_iter().map(status).collect())
    }

    /// Returns children of the job that are not closed, in no order, at most `most`. Of many it may miss some, or all.
    pub async fn open_children(self, job: &JobId, most: usize) -> Result<Vec<JobId>, Error> {
        let read = self.0.commands.call(redis::cmd("SSCAN").arg(self.0.keys.active(job)).arg(0).arg("COUNT").arg(CHILDREN_LOOKED_AT)).await;
        let (_, ids): (Text, Vec<Text>) = self.0.unspoilt(read)?;
        Ok(ids.into_iter().filter_map(|id| id.0?.parse().ok()).take(most).collect())
    }

    /// Whether the job still stands in a list of each of these others, so that it was not released.
    pub async fn still_waits(self, job: &JobId, others: &[JobId]) -> Result<Vec<bool>, Error> {
        let mut pipeline = Pipeline::with_capacity(3 * others.len());
        for other in others {
            for list in ["dependents", "children", "onComplete"] {
                pipeline.cmd("HEXISTS").arg(self.0.keys.job(job)).arg(format!("waits:{list}:{other}"));
            }
        }
        let stands: Vec<bool> = self.0.each_whole(&vec![self.0.keys.job(job); 3 * others.len()], &mut pipeline).await?;
        Ok(stands.chunks(3).map(|stands| stands.contains(&true)).collect())
    }

    /// Returns the due time of a job that waits for its time or its next attempt.
    pub async fn due_at(self, job: &JobId) -> Result<Option<Timestamp>, Error> {
        let due = self.0.commands.call(redis::cmd("ZSCORE").arg(self.0.keys.scheduled()).arg(job.as_str())).await;
        let due: Option<f64> = self.0.unspoilt(due)?;
        Ok(due.map(|millis| Timestamp::from_millis(millis as i64)))
    }

    /// Returns the size of the output of a job in bytes.
    pub async fn output_size(self, job: &JobId) -> Result<usize, Error> {
        self.0.commands.call(redis::cmd("HSTRLEN").arg(self.0.keys.job(job)).arg("output")).await
    }
}
