use redis::Pipeline;
use serde_json::Value;

use crate::Error;
use crate::value::Text;
use crate::views::Jobs;
use hero_model::{Input, JobId, Output, Status};

impl Jobs<'_> {
    /// Returns the sizes of the outputs of jobs in bytes.
    pub async fn output_sizes(self, jobs: &[JobId]) -> Result<Vec<usize>, Error> {
        let keys: Vec<String> = jobs.iter().map(|job| self.0.keys.job(job)).collect();
        let mut pipeline = Pipeline::with_capacity(jobs.len());
        for key in &keys {
            pipeline.cmd("HSTRLEN").arg(key).arg("output");
        }
        self.0.each_whole(&keys, &mut pipeline).await
    }

    /// Returns the outputs of these jobs; nothing for a job that has not finished, or is gone.
    pub async fn outputs(self, jobs: &[JobId]) -> Result<Vec<Option<Input>>, Error> {
        let keys: Vec<String> = jobs.iter().map(|job| self.0.keys.job(job)).collect();
        let mut pipeline = Pipeline::with_capacity(jobs.len());
        for key in &keys {
            pipeline.cmd("HMGET").arg(key).arg(&["status", "name", "output", "output_format"]);
        }
        let answers: Vec<Vec<Text>> = self.0.each_whole(&keys, &mut pipeline).await?;
        Ok(jobs.iter().zip(answers).map(|(id, fields)| input(id, fields)).collect())
    }
}

fn input(id: &JobId, fields: Vec<Text>) -> Option<Input> {
    let [status, name, output, format] = <[Text; 4]>::try_from(fields).ok()?;
    let text = output.0.unwrap_or_default();
    let plain = || if text.is_empty() { Value::Null.into() } else { text.as_str().into() };
    let value = Output::value(&text, format.0.as_deref()).unwrap_or_else(plain);
    (Status::parse(status.0.as_deref()) == Some(Status::Finished)).then(|| Input { job_id: id.clone(), name: name.some(), value })
}
