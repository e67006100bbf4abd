//! Decides who may make which call: the one place where identities, roles and methods meet.

use std::borrow::Cow;
use std::iter;

use super::auth::{Permission, Principal, Session};
use super::error::Error;
use crate::access::Authority;
use crate::dispatch::Dispatcher;
use crate::model::{ContextId, FlowId, FlowSpec, IdentityId, JobId, JobSpec, Role, ScheduleId, TokenId};

/// What a call concerns, as far as that decides who may make it.
#[derive(Debug, Clone, PartialEq)]
pub enum Concern<'c> {
    /// The server, and nothing of a context.
    Server,
    /// What the callers of a context have in common: its objects, its queues, its actors.
    Context(ContextId),
    /// One job.
    Job(ContextId, &'c JobId),
    /// The jobs that this caller created, or all.
    JobsOf(ContextId, Option<&'c str>),
    /// New jobs, with the jobs that they name.
    NewJobs(ContextId, Vec<&'c JobSpec>),
    /// A new flow, with the jobs that it names.
    NewFlow(&'c FlowSpec),
    /// One flow.
    Flow(ContextId, FlowId),
    /// One schedule.
    Schedule(ContextId, &'c ScheduleId),
    /// The messages of this caller, or all.
    Messages(ContextId, Option<u32>),
    /// An identity, with its tokens.
    Identity(IdentityId),
    /// One token.
    Token(&'c TokenId),
}

impl Concern<'_> {
    /// What a call that has begun, and waits, still concerns: jobs that are new are its caller's by then.
    pub(super) fn lasting(&self) -> Lasting {
        match self {
            Self::Job(context, id) => Lasting::Job(*context, (*id).clone()),
            Self::Flow(context, id) => Lasting::Flow(*context, *id),
            Self::NewJobs(context, _) => Lasting::New(*context),
            Self::NewFlow(flow) => Lasting::New(flow.context_id),
            other => other.context().map_or(Lasting::Server, Lasting::Context),
        }
    }

    /// The context, if it is one's.
    pub(super) fn context(&self) -> Option<ContextId> {
        match self {
            Self::Server | Self::Identity(_) | Self::Token(_) => None,
            Self::Context(context)
            | Self::Job(context, _)
            | Self::JobsOf(context, _)
            | Self::NewJobs(context, _)
            | Self::Flow(context, _)
            | Self::Messages(context, _)
            | Self::Schedule(context, _) => Some(*context),
            Self::NewFlow(flow) => Some(flow.context_id),
        }
    }
}

/// What a call concerns that waits, kept beside it.
#[derive(Debug)]
pub(super) enum Lasting {
    Server,
    Context(ContextId),
    Job(ContextId, JobId),
    Flow(ContextId, FlowId),
    New(ContextId),
}

impl Lasting {
    pub(super) fn concern(&self) -> Concern<'_> {
        match self {
            Self::Server => Concern::Server,
            Self::Context(context) => Concern::Context(*context),
            Self::Job(context, id) => Concern::Job(*context, id),
            Self::Flow(context, id) => Concern::Flow(*context, *id),
            Self::New(context) => Concern::NewJobs(*context, Vec::new()),
        }
    }
}

/// Who may do what, where callers have to log in.
#[derive(Clone)]
pub struct Guard {
    authority: Authority,
    dispatcher: Dispatcher,
}

/// What a role is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    /// All of it.
    Yes,
    /// What is its own.
    Own,
    /// Nothing.
    No,
}

/// What a role allows of calls that need `permission` and concern this. No role is any identity.
pub(super) const fn allowed(role: Option<Role>, permission: Permission, concern: &Concern<'_>) -> Allowed {
    match (permission, role) {
        (Permission::Public, _) => Allowed::Yes,
        (Permission::Identity, _) => match concern {
            Concern::Identity(_) | Concern::Token(_) => Allowed::Own,
            _ => Allowed::Yes,
        },
        (Permission::Read, Some(Role::Admin | Role::Reader | Role::Executor))
        | (Permission::Submit | Permission::Administer, Some(Role::Admin)) => Allowed::Yes,
        (Permission::Read | Permission::Submit, Some(Role::Caller)) => match concern {
            Concern::Context(_) => Allowed::Yes,
            _ => Allowed::Own,
        },
        _ => Allowed::No,
    }
}

/// How many others the jobs of one call may name, as the dispatcher says, too: it is asked before that.
const MOST_NAMED: usize = 2000;

impl Guard {
    /// A guard for the jobs of a dispatcher.
    pub const fn new(authority: Authority, dispatcher: Dispatcher) -> Self {
        Self { authority, dispatcher }
    }

    /// Who has logged in, and may do what.
    pub const fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Whether a session may make a call that needs `permission` and concerns this.
    pub(super) async fn allow(&self, session: &Session, permission: Permission, concern: &Concern<'_>) -> Result<(), Error> {
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
        let has = |role: &Role| concern.context().is_some_and(|context| self.authority.has_role(identity, context, *role));
        let roles = iter::once(None).chain(Role::ALL.into_iter().filter(has).map(Some));
        let mut own_only = false;
        for role in roles {
            match allowed(role, permission, concern) {
                Allowed::Yes => return Ok(()),
                Allowed::Own => own_only = true,
                Allowed::No => {}
            }
        }
        if !own_only {
            return Err(lacking(identity, concern.context(), permission));
        }
        if self.belongs_to(identity, concern).await? { Ok(()) } else { Err(not_own(identity, concern)) }
    }

    /// Whether all that a call concerns is the caller's own, or all callers'.
    async fn belongs_to(&self, identity: IdentityId, concern: &Concern<'_>) -> Result<bool, Error> {
        let own = &*identity.to_string();
        Ok(match concern {
            Concern::Server => false,
            Concern::Identity(other) => *other == identity,
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
            Concern::Flow(context, id) => self.dispatcher.flow_owner(*context, *id).await?.is_none_or(|owner| owner == own),
            Concern::Schedule(context, id) => self.dispatcher.schedule_owner(*context, id).await?.is_none_or(|owner| owner == own),
        })
    }

    /// Whether all these jobs are the caller's own. One that does not exist is nobody's, so that its method says so.
    async fn owns_all(&self, own: &str, context: ContextId, jobs: &[&JobId]) -> Result<bool, Error> {
        let owners = self.dispatcher.owners(context, jobs).await?;
        Ok(owners.into_iter().flatten().all(|owner| owner == own))
    }
}

/// Refuses jobs that are made in the name of somebody else.
fn not_for_others<'s>(identity: IdentityId, mut callers: impl Iterator<Item = &'s String>) -> Result<(), Error> {
    let own = identity.to_string();
    match callers.any(|caller| *caller != own) {
        true => Err(denied(format!("caller_id has to be {own}, who you are; leave it out"))),
        false => Ok(()),
    }
}

/// Refuses calls that name more jobs than can be looked up.
fn named_at_most(many: usize) -> Result<(), Error> {
    if many > MOST_NAMED {
        return Err(Error::Params(format!("the jobs name {many} others; one call names {MOST_NAMED} at most")));
    }
    Ok(())
}

fn denied(why: impl Into<Cow<'static, str>>) -> Error {
    Error::Denied(why.into())
}

pub(super) fn lacking(identity: IdentityId, context: Option<ContextId>, permission: Permission) -> Error {
    let needed = match permission {
        Permission::Read => "admin, reader, executor or caller",
        Permission::Submit => "admin or caller",
        _ => "admin",
    };
    match context {
        Some(context) => denied(format!("identity {identity} needs to be {needed} in context {context}; an admin of it may grant that")),
        None => denied("only the operator may, through the socket in the data directory"),
    }
}

fn not_own(own: IdentityId, concern: &Concern<'_>) -> Error {
    denied(match concern {
        Concern::JobsOf(..) => format!("a caller sees what is its own; name yourself in the filter: caller_id = {own}"),
        Concern::Messages(..) => format!("a caller sees its own messages; name yourself: caller_id = {own}"),
        Concern::NewJobs(..) | Concern::NewFlow(_) => "a caller's jobs may name its own jobs only".to_owned(),
        Concern::Flow(..) => "that flow is another caller's".to_owned(),
        Concern::Schedule(..) => "that schedule is another caller's".to_owned(),
        Concern::Identity(_) | Concern::Token(_) => "that is another identity's; only the operator may".to_owned(),
        _ => "that job is another caller's".to_owned(),
    })
}
