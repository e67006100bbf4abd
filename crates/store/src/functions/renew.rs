use crate::Error;
use crate::library::fcall::Function;
use crate::views::Queues;
use hero_model::JobId;

const FUNCTION: Function = Function("renew");

impl Queues<'_> {
    /// Renews the leases of running jobs, and returns those that this server does not hold any more. Each is a job and its
    /// [claim](crate::Claimed::claim).
    ///
    /// The result of such a job will be refused, so its run can end now.
    pub async fn renew(self, claims: &[(JobId, u32)]) -> Result<Vec<(JobId, u32)>, Error> {
        let mut lost = Vec::new();
        for claims in claims.chunks(128) {
            let mut call = self.0.call(&FUNCTION);
            call.arg(self.0.periods.lease.as_millis() as u64);
            for (job, claim) in claims {
                call.arg(job.as_str()).arg(*claim);
            }
            let numbers: Vec<usize> = self.0.fetches.function(&call).await?;
            lost.extend(numbers.into_iter().filter_map(|number| claims.get(number.checked_sub(1)?).cloned()));
        }
        Ok(lost)
    }
}
