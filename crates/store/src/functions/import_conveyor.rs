use super::unexpected;
use crate::jobs::codec;
use crate::library::fcall::Function;
use crate::views::Conveyor;
use crate::{ConveyorKeys, Error};
use hero_model::{JobId, JobSpec};

const FUNCTION: Function = Function("import_conveyor");

/// One element of a conveyor queue, with its conversion.
#[derive(Debug, Clone)]
pub enum Import {
    /// A job for hero's pools.
    Job {
        /// The element itself.
        bytes: Vec<u8>,
        /// Its id.
        id: JobId,
        /// The id of its parent, or an empty text.
        parent: String,
        /// The parameters of the job.
        spec: Box<JobSpec>,
    },
    /// A job that cannot run and fails at once.
    Ill {
        /// The element itself.
        bytes: Vec<u8>,
        /// Its id.
        id: JobId,
        /// The id of its parent, or an empty text.
        parent: String,
        /// The job with the reason of its failure.
        failed: Vec<u8>,
    },
    /// No job at all.
    Bad {
        /// The element itself.
        bytes: Vec<u8>,
    },
}

/// The result of importing an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imported {
    /// It is now a job in its work queue.
    Taken,
    /// It stays in its place, because the work queue is long enough, Redis nearly full, or the context about to be deleted.
    Full,
    /// Another server took it.
    Gone,
    /// It was added again while it is being processed, and dropped.
    Twice,
    /// Another kind of job has its id; it was set aside.
    Other,
    /// It failed, and is in the list of failed jobs.
    Failed,
    /// It failed, and could not be kept because the key for failed jobs is no list.
    Lost,
}

impl Conveyor<'_> {
    /// Takes elements out of a queue of the conveyor layout, each exactly once, and returns the result for each.
    ///
    /// The import makes no work queue longer than `backlog`.
    pub async fn import(self, keys: &ConveyorKeys, queue: &str, backlog: usize, elements: &[Import]) -> Result<Vec<Imported>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.look()).arg(keys.prefix()).arg(keys.queue(queue)).arg(backlog);
        for element in elements {
            match element {
                Import::Job { bytes, id, parent, spec } => {
                    let fields = codec::fields(spec, self.0.keys.context());
                    call.arg(bytes).arg("job").arg(id.as_str()).arg(parent).arg(spec.script_type.as_str()).arg(2 * fields.len());
                    for (field, value) in fields {
                        call.arg(field).arg(value);
                    }
                }
                Import::Ill { bytes, id, parent, failed } => {
                    call.arg(bytes).arg("ill").arg(id.as_str()).arg(parent).arg(failed);
                }
                Import::Bad { bytes } => {
                    call.arg(bytes).arg("bad");
                }
            }
        }
        let answers: Vec<String> = self.0.commands.function(&call).await?;
        let imported = answers.iter().map(|answer| {
            Ok(match answer.as_str() {
                "taken" => Imported::Taken,
                "full" => Imported::Full,
                "gone" => Imported::Gone,
                "twice" => Imported::Twice,
                "other" => Imported::Other,
                "failed" => Imported::Failed,
                "lost" => Imported::Lost,
                _ => return Err(unexpected("import_conveyor", answer)),
            })
        });
        let imported: Vec<Imported> = imported.collect::<Result<_, _>>()?;
        for (element, became) in elements.iter().zip(&imported) {
            if let (Import::Job { spec, .. }, Imported::Taken) = (element, became) {
                self.0.wake_ups.wake(&spec.script_type);
            }
        }
        Ok(imported)
    }
}
