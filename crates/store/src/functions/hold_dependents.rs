use super::create::{Created, NewJob, created};
use super::unexpected;
use crate::library::fcall::{Function, list};
use crate::relations::staged_group::StagedGroup;
use crate::value::Text;
use crate::{Error, Inner};

const FUNCTION: Function = Function("hold_dependents");

/// The approximate number of jobs that one call holds.
const JOBS_PER_CALL: usize = 32;

impl Inner {
    /// Makes existing jobs wait for those of a group that name them as their dependents. Returns the answers if one refuses: nothing if the
    /// group must be staged again.
    pub(super) async fn hold(&self, group: &StagedGroup<'_>) -> Result<Option<Option<Vec<Created>>>, Error> {
        let names = |(_, job): &(usize, &NewJob)| group.dependents(job).next().is_some();
        // A job may name more dependents than one call takes.
        let parts: Vec<(usize, &NewJob, Vec<_>)> = group
            .staged_jobs()
            .filter(names)
            .flat_map(|(place, job)| {
                let all: Vec<_> = group.dependents(job).collect();
                all.chunks(JOBS_PER_CALL).map(|some| (place, job, some.to_vec())).collect::<Vec<_>>()
            })
            .collect();
        let mut rest = parts.as_slice();
        while !rest.is_empty() {
            let mut held = 0;
            let fits = |(_, _, some): &&(usize, &NewJob, Vec<_>)| {
                held += some.len();
                held <= JOBS_PER_CALL
            };
            let (now, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            let mut call = self.call(&FUNCTION);
            call.arg(group.id.as_str()).arg(group.jobs.len()).arg(now.len());
            for (_, job, some) in now {
                call.arg(job.id.as_str()).arg(list(some.iter()));
            }
            let answer: Vec<Text> = self.commands.function(&call).await?;
            match answer.first().and_then(|text| text.0.as_deref()) {
                Some("held") => rest = later,
                Some("gone") => return Ok(Some(None)),
                Some("refused") => {
                    let nth: Option<usize> = answer.get(1).and_then(Text::parse);
                    let place = nth.and_then(|nth| now.get(nth.checked_sub(1)?)).map_or(0, |(place, ..)| *place);
                    let why = created(answer.get(2..).unwrap_or_default())?.unwrap_or(Created::Tangled);
                    return Ok(Some(Some(group.refused(place, why))));
                }
                _ => return Err(unexpected("hold_dependents", &answer)),
            }
        }
        Ok(None)
    }
}
