//! The check whether the caller of a job may make the host calls of its script.

use super::host::CallingJob;
use hero_access::{Allowed, Concern, Permission, lacking};
use hero_audit::{Outcome, Record, Who};
use hero_engine::Use;
use hero_model::api::Code;
use hero_model::{ContextId, IdentityId, JobId};

/// Returns the permission that the caller of a job needs for a host call, and the object of that permission.
pub fn script_right(uses: Use, context: ContextId, job: &JobId) -> (Permission, Concern<'_>) {
    match uses {
        Use::Itself => (Permission::Public, Concern::Job(context, job)),
        Use::Inputs => (Permission::Read, Concern::Job(context, job)),
        Use::Read => (Permission::Read, Concern::Context(context)),
        Use::Change => (Permission::Submit, Concern::Context(context)),
        Use::Spawn => (Permission::Submit, Concern::NewJobs(context, Vec::new())),
    }
}

impl CallingJob {
    /// Checks whether the caller of the job may make this host call, or returns the missing permission. The job may
    /// always read itself and the outputs of its prerequisites.
    pub(super) async fn may(&self, uses: Use, name: &'static str) -> Result<(), String> {
        let Some(authority) = self.authority.as_ref().filter(|authority| authority.has_login()) else { return Ok(()) };
        let Some(identity) = IdentityId::of_caller(&self.caller) else { return Ok(()) };
        let (permission, concern) = script_right(uses, self.context, &self.job);
        if authority.allowed(identity, permission, &concern) != Allowed::No {
            return Ok(());
        }
        // Another server may have granted it just now.
        if let Err(error) = self.retry.run(|| authority.follow()).await {
            tracing::debug!(%error, job = %self.job, "the rights of a job's caller cannot be read now");
            return Err(format!("the rights of identity {identity} cannot be read from Redis now; try again"));
        }
        if authority.allowed(identity, permission, &concern) != Allowed::No {
            return Ok(());
        }
        let outcome = Outcome::Refused(Code::PermissionDenied.number());
        self.audit.refusal(|| Record { context: Some(self.context), ..Record::new(Who::Job(self.job.clone()), name, outcome) });
        Err(lacking(identity, Some(self.context), permission))
    }
}
