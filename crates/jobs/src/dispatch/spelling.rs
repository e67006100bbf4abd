use super::Error;
use super::views::JobCalls;
use hero_model::{ContextId, JobId, JobSpec};

impl JobCalls<'_> {
    /// Returns the id of a job as the store has it, however the client spelled it.
    ///
    /// It is in lower case, unless a foreign program wrote the job under an id in another case, as in its keys.
    pub async fn spelled(self, context: ContextId, mut id: JobId) -> Result<JobId, Error> {
        self.spell(context, vec![&mut id]).await?;
        Ok(id)
    }

    /// Like [`Self::spelled`], but for all ids that a job names.
    pub(super) async fn spell_relations(self, spec: &mut JobSpec) -> Result<(), Error> {
        let JobSpec { context_id, job_id, parent_id, predecessor_id, prerequisites, dependents, .. } = spec;
        let ids = prerequisites.iter_mut().chain(dependents).chain(job_id).chain(parent_id).chain(predecessor_id);
        self.spell(*context_id, ids.collect()).await
    }

    pub(super) async fn spell(self, context: ContextId, ids: Vec<&mut JobId>) -> Result<(), Error> {
        let odd = ids.into_iter().filter_map(|id| id.in_lower_case().map(|lower| (id, lower)));
        let (mut written, lower): (Vec<&mut JobId>, Vec<JobId>) = odd.unzip();
        if written.is_empty() {
            return Ok(());
        }
        let asked: Vec<JobId> = lower.iter().cloned().chain(written.iter().map(|id| (**id).clone())).collect();
        let exist = self.0.contexts().store(context).await?.jobs().exist(&asked).await?;
        let (in_lower, as_written) = exist.split_at(lower.len());
        for (at, lower) in lower.into_iter().enumerate() {
            let is_foreign = as_written.get(at) == Some(&true) && in_lower.get(at) != Some(&true);
            if !is_foreign {
                *written[at] = lower;
            }
        }
        Ok(())
    }
}
