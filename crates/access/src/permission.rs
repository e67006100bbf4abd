//! What roles allow: the one place where identities, roles, methods and the functions of scripts meet.

use std::iter;

use super::Authority;
use hero_model::{ContextId, FlowId, FlowSpec, IdentityId, JobId, JobSpec, Role, ScheduleId, Standing, TokenId};
use hero_store as store;

/// What a method, or a function that scripts call, needs from whoever calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Nothing: everybody may.
    Public,
    /// To be somebody, whatever rights that has: what concerns an identity itself, and what all may know.
    Identity,
    /// To read jobs, their logs and what else is in a context.
    Read,
    /// To start, stop and retry jobs and flows that are there.
    Run,
    /// To create and delete jobs, and to change objects.
    Submit,
    /// To change what concerns everybody's jobs in a context, and who may do what there.
    Administer,
    /// To change what concerns all contexts: identities and their tokens.
    Operate,
}

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
    /// An identity, as whoever has something to do with it may see it.
    Fellow(IdentityId),
    /// One token.
    Token(&'c TokenId),
}

impl Concern<'_> {
    /// What a call that has begun, and waits, still concerns: jobs that are new are its caller's by then.
    pub fn lasting(&self) -> Lasting {
        match self {
            Self::Job(context, id) => Lasting::Job(*context, (*id).clone()),
            Self::Flow(context, id) => Lasting::Flow(*context, *id),
            Self::NewJobs(context, _) => Lasting::New(*context),
            Self::NewFlow(flow) => Lasting::New(flow.context_id),
            other => other.context().map_or(Lasting::Server, Lasting::Context),
        }
    }

    /// The context, if it is one's.
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

/// What a call concerns that waits, kept beside it.
#[derive(Debug)]
pub enum Lasting {
    /// The server.
    Server,
    /// What callers of a context have in common.
    Context(ContextId),
    /// One job.
    Job(ContextId, JobId),
    /// One flow.
    Flow(ContextId, FlowId),
    /// What the call has made.
    New(ContextId),
}

impl Lasting {
    /// What it concerns.
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

/// What a role is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// All of it.
    Yes,
    /// What is its own.
    Own,
    /// Nothing.
    No,
}

/// What a role allows of calls that need `permission` and concern this. No role is any identity.
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
    /// What an identity may do of what needs `permission` and concerns this, by all of its roles together.
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
    /// Whether a caller may create jobs in a context, where callers log in. `anew`: what another server may have granted just now is looked for.
    pub async fn standing(&self, context: ContextId, caller: &str, anew: bool) -> Result<Standing, store::Error> {
        let Some(identity) = IdentityId::of_caller(caller).filter(|_| self.has_login()) else { return Ok(Standing::May) };
        let may = || self.allowed(identity, Permission::Submit, &Concern::NewJobs(context, Vec::new())) != Allowed::No;
        if may() {
            return Ok(Standing::May);
        }
        if anew {
            self.follow().await?;
        }
        // Asked first: what is read meanwhile is known before it is missing no more.
        let unread = self.missing().contains(&context);
        Ok(match (may(), unread) {
            (true, _) => Standing::May,
            (false, true) => Standing::Unread,
            (false, false) => Standing::Lacks(lacking(identity, Some(context), Permission::Submit)),
        })
    }
}

/// What an identity lacks that may not do something.
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
