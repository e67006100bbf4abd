//! Decides which caller may make which call. `crates/access/src/permission.rs` says what roles allow, also for functions of scripts.

use std::borrow::Cow;

use super::auth::{Permission, Principal, Session};
use crate::error::Error;
pub use hero_access::Concern;
use hero_access::{self as access, Allowed, Authority};
use hero_jobs::dispatch::Dispatcher;
use hero_model::{ContextId, IdentityId, JobId};

/// The rights of callers, where callers must log in.
#[derive(Clone)]
pub struct Guard {
    authority: Authority,
    dispatcher: Dispatcher,
}

/// The most other jobs that the jobs of one call may name. The dispatcher has the same limit, but the guard runs first.
const MOST_NAMED: usize = 2000;

impl Guard {
    /// Returns a guard for the jobs of a dispatcher.
    pub const fn new(authority: Authority, dispatcher: Dispatcher) -> Self {
        Self { authority, dispatcher }
    }

    /// Returns the authority on logins and rights.
    pub const fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Checks whether a session may make a call that needs `permission` and has this concern.
    pub(crate) async fn allow(&self, session: &Session, permission: Permission, concern: &Concern<'_>) -> Result<(), Error> {
        let identity = match session.principal() {
            Principal::Operator => return Ok(()),
            _ if permission == Permission::Public => return Ok(()),
            Principal::Anonymous => return Err(Error::NotAuthenticated),
            Principal::Identity(login) if login.has_ended() => return Err(Error::NotAuthenticated),
            Principal::Identity(login) => login.identity(),
        };
        match concern {
            Concern::NewJobs(_, specs) => not_for_others(identity, specs.iter().filter_map(|spec| spec.caller_id.as_ref()))?,
            Concern::NewFlow(flow) => not_for_others(identity, flow.caller_id.iter())?,
            _ => {}
        }
        match self.authority.allowed(identity, permission, concern) {
            Allowed::Yes => return Ok(()),
            Allowed::Own => {}
            Allowed::No => return Err(lacking(identity, concern.context(), permission)),
        }
        if self.belongs_to(identity, concern).await? { Ok(()) } else { Err(not_own(identity, concern)) }
    }

    /// Whether the whole concern of a call belongs to the caller, or to all callers.
    async fn belongs_to(&self, identity: IdentityId, concern: &Concern<'_>) -> Result<bool, Error> {
        let own = &*identity.to_string();
        Ok(match concern {
            Concern::Server => false,
            Concern::Identity(other) => *other == identity,
            Concern::Fellow(other) => self.authority.fellows(identity).contains(other),
            Concern::Token(token) => self.authority.owner(token).await? == identity,
            Concern::Context(_) => true,
            Concern::Messages(_, caller) => *caller == Some(identity.0),
            Concern::JobsOf(_, caller) => *caller == Some(own),
            Concern::Job(context, id) => self.owns_all(own, *context, &[*id]).await?,
            Concern::NewJobs(context, specs) => {
                let made: Vec<&JobId> = specs.iter().filter_map(|spec| spec.job_id.as_ref()).collect();
                let mut named: Vec<&JobId> = specs.iter().flat_map(|spec| spec.named()).filter(|id| !made.contains(id)).collect();
                named.sort_unstable();
                named.dedup();
                named_at_most(named.len())?;
                self.owns_all(own, *context, &named).await?
            }
            Concern::NewFlow(flow) => {
                let named: Vec<&JobId> = flow.prerequisites.iter().collect();
                named_at_most(named.len())?;
                self.owns_all(own, flow.context_id, &named).await?
            }
            Concern::Flow(context, id) => self.dispatcher.jobs().flow_owner(*context, *id).await?.is_none_or(|owner| owner == own),
            Concern::Schedule(context, id) => self.dispatcher.schedules().owner(*context, id).await?.is_none_or(|owner| owner == own),
        })
    }

    /// Whether all these jobs belong to the caller. A missing job has no owner, so that its method reports the error.
    async fn owns_all(&self, own: &str, context: ContextId, jobs: &[&JobId]) -> Result<bool, Error> {
        let owners = self.dispatcher.jobs().owners(context, jobs).await?;
        Ok(owners.into_iter().flatten().all(|owner| owner == own))
    }
}

/// Refuses jobs that would be created in another caller's name.
fn not_for_others<'s>(identity: IdentityId, mut callers: impl Iterator<Item = &'s String>) -> Result<(), Error> {
    let own = identity.to_string();
    match callers.any(|caller| *caller != own) {
        true => Err(denied(format!("caller_id has to be {own}, who you are; leave it out"))),
        false => Ok(()),
    }
}

/// Refuses calls that name too many jobs to look up.
fn named_at_most(many: usize) -> Result<(), Error> {
    if many > MOST_NAMED {
        return Err(Error::Params(format!("the jobs name {many} others; one call names {MOST_NAMED} at most")));
    }
    Ok(())
}

fn denied(why: impl Into<Cow<'static, str>>) -> Error {
    Error::Denied(why.into())
}

/// Returns the error for an identity without the needed role.
pub(crate) fn lacking(identity: IdentityId, context: Option<ContextId>, permission: Permission) -> Error {
    denied(access::lacking(identity, context, permission))
}

fn not_own(own: IdentityId, concern: &Concern<'_>) -> Error {
    denied(match concern {
        Concern::JobsOf(..) => format!("a caller sees what is its own; name yourself in the filter: caller_id = {own}"),
        Concern::Messages(..) => format!("a caller sees its own messages; name yourself: caller_id = {own}"),
        Concern::NewJobs(..) | Concern::NewFlow(_) => "a caller's jobs may name its own jobs only".to_owned(),
        Concern::Flow(..) => "that flow is another caller's".to_owned(),
        Concern::Schedule(..) => "that schedule is another caller's".to_owned(),
        Concern::Fellow(other) => {
            format!("you may look at identities that have a role in a context in which you have one, and identity {other} is none of these")
        }
        Concern::Identity(_) | Concern::Token(_) => "that is another identity's; only the operator may".to_owned(),
        _ => "that job is another caller's".to_owned(),
    })
}
