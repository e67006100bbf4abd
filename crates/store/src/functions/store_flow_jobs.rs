use super::create_flow::{NewFlow, NewFlowJob, whole};
use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::{Text, json};
use crate::views::Flows;
use hero_model::FlowId;

const FUNCTION: Function = Function("store_flow_jobs");

/// The number of jobs, and the approximate number of bytes, that one call stores.
const JOBS_AND_BYTES_PER_CALL: (usize, usize) = (64, 256 * 1024);

impl Flows<'_> {
    /// Stores the hashes of the jobs of a new flow, in the runner layout. Returns false if the creation of the flow was given up.
    pub async fn store_jobs(self, flow: FlowId, new: &NewFlow<'_>, numbers: &[u32]) -> Result<bool, Error> {
        let mut dependents: Vec<Vec<u32>> = vec![Vec::new(); new.jobs.len()];
        for (job, number) in new.jobs.iter().zip(numbers) {
            for place in &job.waits_for {
                if let Some(waiting) = dependents.get_mut(*place) {
                    waiting.push(*number);
                }
            }
        }
        // The names of the specification, without the prefix of the context.
        let key = |place: &usize| numbers.get(*place).map(|number| format!("job:{}:{number}", new.caller));
        let mut places = (0..new.jobs.len().min(numbers.len())).peekable();
        while places.peek().is_some() {
            let (mut some, mut bytes) = (Vec::new(), 0);
            while let Some(place) = places.next_if(|_| some.len() < JOBS_AND_BYTES_PER_CALL.0 && bytes < JOBS_AND_BYTES_PER_CALL.1) {
                let job = &new.jobs[place];
                let prerequisites = json(&job.waits_for.iter().filter_map(key).collect::<Vec<String>>());
                let dependents = json(&dependents[place]);
                let fields = runner_fields(job);
                bytes += prerequisites.len() + dependents.len() + fields.iter().map(|(_, value)| value.len()).sum::<usize>();
                some.push((numbers[place], job, prerequisites, dependents, fields));
            }
            let mut call = self.0.call(&FUNCTION);
            call.arg(flow.to_string()).arg(new.caller).arg(some.len());
            for (number, job, prerequisites, dependents, fields) in some {
                call.arg(number).arg(job.id.as_str()).arg(&job.name).arg(prerequisites).arg(dependents).arg(2 * fields.len());
                for (field, value) in fields {
                    call.arg(field).arg(value);
                }
            }
            let answer: Text = self.0.commands.function(&call).await?;
            match answer.0.as_deref() {
                Some("stored") => {}
                Some("gone") => return Ok(false),
                _ => return Err(unexpected("store_flow_jobs", &answer)),
            }
        }
        Ok(true)
    }
}

/// Returns the fields of the coordinator's specification for a job, besides those that all jobs of a flow have.
fn runner_fields(job: &NewFlowJob) -> Vec<(&'static str, String)> {
    let spec = &job.spec;
    let mut fields = vec![
        ("script", spec.script.clone()),
        ("script_type", spec.script_type.to_string()),
        ("timeout", spec.timeout.map_or_else(String::new, whole)),
        // The specification has one byte for it.
        ("retries", spec.retries.min(u8::MAX.into()).to_string()),
        ("env_vars", json(&spec.env_vars)),
    ];
    fields.extend(job.runner.map(|runner| ("runner", runner.to_string())));
    fields
}
