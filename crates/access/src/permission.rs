//! Permissions of roles: the one place where identities, roles, methods and script functions meet.

use std::iter;

use super::Authority;
use hero_model::{ContextId, FlowId, FlowSpec, IdentityId, JobId, JobSpec, Role, ScheduleId, Standing, TokenId};
use hero_store as store;

/// The permission that a method or a script function requires of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// No permission: every caller may.
    Public,
    /// A login, with any rights: for what concerns the identity itself, and what all may know.
    Identity,
    /// To read jobs, their logs and everything else in a context.
    Read,
    /// To start, stop and retry existing jobs and flows.
    Run,
    /// To create and delete jobs, and to change objects.
    Submit,
    /// To change what concerns all jobs in a context, and the roles of identities there.
    Administer,
    /// To change what concerns all contexts: identities and their tokens.
    Operate,
}

/// The target of a call, as far as it decides who may make the call.
#[derive(Debug, Clone, PartialEq)]
pub enum Concern<'c> {
    /// The server, and no context.
    Server,
    /// What the callers of a context share: its objects, queues and actors.
    Context(ContextId),
    /// One job.
    Job(ContextId, &'c JobId),
    /// The jobs that this caller created, or all jobs.
    JobsOf(ContextId, Option<&'c str>),
    /// New jobs, with the existing jobs that they name.
    NewJobs(ContextId, Vec<&'c JobSpec>),
    /// A new flow, with the jobs that it names.
    NewFlow(&'c FlowSpec),
    /// One flow.
    Flow(ContextId, FlowId),
    /// One schedule.
    Schedule(ContextId, &'c ScheduleId),
    /// The messages of this caller, or all messages.
    Messages(ContextId, Option<u32>),
    /// An identity, with its tokens.
    Identity(IdentityId),
    /// An identity, as seen by those who share a context with it.
    Fellow(IdentityId),
    /// One token.
    Token(&'c TokenId),
}

impl Concern<'_> {
    /// Returns the target that a waiting call still concerns. New jobs belong to the caller by then.
    pub fn lasting(&self) -> Lasting {
        match self {
            Self::Job(context, id) => Lasting::Job(*context, (*id).clone()),
            Self::Flow(context, id) => Lasting::Flow(*context, *id),
            Self::NewJobs(context, _) => Lasting::New(*context),
            Self::NewFlow(flow) => Lasting::New(flow.context_id),
            other => other.context().map_or(Lasting::Server, Lasting::Context),
        }
    }

    /// Returns the context of the target, if it has one.
    pub fn context(&self) -> Option<ContextId> {
        match self {
            Self::Server | Self::Identity(_) | Self::Fellow(_) | Self::Token(_) => None,
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

/// The target of a waiting call, kept with it.
#[derive(Debug)]
pub enum Lasting {
    /// The server.
    Server,
    /// What the callers of a context share.
    Context(ContextId),
    /// One job.
    Job(ContextId, JobId),
    /// One flow.
    Flow(ContextId, FlowId),
    /// The jobs or the flow that the call has made.
    New(ContextId),
}

impl Lasting {
    /// Returns the target of the call.
    pub fn concern(&self) -> Concern<'_> {
        match self {
            Self::Server => Concern::Server,
            Self::Context(context) => Concern::Context(*context),
            Self::Job(context, id) => Concern::Job(*context, id),
            Self::Flow(context, id) => Concern::Flow(*context, *id),
            Self::New(context) => Concern::NewJobs(*context, Vec::new()),
        }
    }
}

/// The answer to what a role allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// Allowed for all targets.
    Yes,
    /// Allowed for its own targets.
    Own,
    /// Not allowed.
    No,
}

/// Returns what a role allows for calls that need `permission` and concern this target. `None` is any identity without
/// a role.
pub const fn allowed(role: Option<Role>, permission: Permission, concern: &Concern<'_>) -> Allowed {
    match (permission, role) {
        (Permission::Public, _) => Allowed::Yes,
        (Permission::Identity, _) => match concern {
            Concern::Identity(_) | Concern::Fellow(_) | Concern::Token(_) => Allowed::Own,
            _ => Allowed::Yes,
        },
        (Permission::Read, Some(Role::Admin | Role::Reader | Role::Executor))
        | (Permission::Run, Some(Role::Admin | Role::Executor))
        | (Permission::Submit | Permission::Administer, Some(Role::Admin)) => Allowed::Yes,
        (Permission::Read | Permission::Run | Permission::Submit, Some(Role::Caller)) => match concern {
            Concern::Context(_) => Allowed::Yes,
            _ => Allowed::Own,
        },
        _ => Allowed::No,
    }
}

impl Authority {
    /// Returns what an identity may do with this target for calls that need `permission`, by all of its roles together.
    pub fn allowed(&self, identity: IdentityId, permission: Permission, concern: &Concern<'_>) -> Allowed {
        let has = |role: &Role| concern.context().is_some_and(|context| self.has_role(identity, context, *role));
        let mut most = Allowed::No;
        for role in iter::once(None).chain(Role::ALL.into_iter().filter(has).map(Some)) {
            match allowed(role, permission, concern) {
                Allowed::Yes => return Allowed::Yes,
                Allowed::Own => most = Allowed::Own,
                Allowed::No => {}
            }
        }
        most
    }
}

impl Authority {
    /// Returns whether a caller may create jobs in a context, where callers log in. With `anew`, first looks for rights
    /// that other servers have just granted.
    pub async fn standing(&self, context: ContextId, caller: &str, anew: bool) -> Result<Standing, store::Error> {
        let Some(identity) = IdentityId::of_caller(caller).filter(|_| self.has_login()) else { return Ok(Standing::May) };
        let may = || self.allowed(identity, Permission::Submit, &Concern::NewJobs(context, Vec::new())) != Allowed::No;
        if may() {
            return Ok(Standing::May);
        }
        if anew {
            self.follow().await?;
        }
        // Checked first: a context is known before it leaves the missing ones.
        let unread = self.missing().contains(&context);
        Ok(match (may(), unread) {
            (true, _) => Standing::May,
            (false, true) => Standing::Unread,
            (false, false) => Standing::Lacks(lacking(identity, Some(context), Permission::Submit)),
        })
    }
}

/// Describes the role that an identity lacks for a call.
pub fn lacking(identity: IdentityId, context: Option<ContextId>, permission: Permission) -> String {
    let needed = match permission {
        Permission::Read => "admin, reader, executor or caller",
        Permission::Run => "admin, executor or caller",
        Permission::Submit => "admin or caller",
        _ => "admin",
    };
    match context {
        Some(context) => format!("identity {identity} needs to be {needed} in context {context}; an admin of it may grant that"),
        None => "only the operator may, through the socket in the data directory".to_owned(),
    }
}
