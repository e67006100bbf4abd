//! The audit records of calls: each call that changes something, and each refused call.

use super::access::Access;
use super::auth::{Permission, Principal, Session};
use super::guard::Concern;
use crate::error::{Code, Error};
use hero_access::Login;
use hero_audit::{Audit, Doing, Outcome, Record, Who};
use hero_model::{ContextId, JobId, excerpt};

/// The most characters of a caller's name for something that are recorded.
const MAX_NAME_CHARS: usize = 256;

/// A call that becomes a record of the audit log. A call without an end, because its caller left or it took too long, is recorded, too.
#[derive(Debug)]
pub struct Act(Doing);

impl Act {
    /// A call without a record.
    pub(crate) const NONE: Self = Self(Doing::NONE);

    /// Begins the record of an allowed call. A call that changes something is refused if it could not be recorded.
    pub(crate) fn begin(
        audit: &Audit,
        session: &Session,
        (what, permission): (&'static str, Permission),
        about: impl FnOnce() -> (Option<ContextId>, Option<String>),
    ) -> Result<Self, Error> {
        let record = || {
            let (context, object) = about();
            Record { context, object, ..of(session, what, Outcome::Unknown) }
        };
        let begun = audit.begin(record)?;
        // Everybody, or every identity, can try calls that need no role.
        let is_for_all = matches!(permission, Permission::Public | Permission::Identity);
        Ok(Self(if is_for_all { begun.counted() } else { begun }))
    }

    /// Records that the call has done its work, though it may not have ended. `made` names the object that it created, if the name is known
    /// only now.
    pub fn done(&mut self, made: Option<String>) {
        self.0.end(|record| {
            record.outcome = Outcome::Ok;
            record.object = made.or(record.object.take());
        });
    }

    /// Records the same for calls that can be repeated at will: they are counted with others of their kind, like refusals.
    pub(crate) fn done_once_more(&mut self) {
        self.0.count(|record| record.outcome = Outcome::Ok);
    }

    /// Sets the caller, once the token of the call shows it.
    pub(crate) fn by(&mut self, login: &Login) {
        self.0.tell(|record| record.who = Who::Identity(login.identity(), login.token().clone()));
    }

    /// Records that the call failed, unless its work was done before.
    pub(crate) fn failed(&mut self, code: Code) {
        let outcome = if is_refusal(code) { Outcome::Refused(code.number()) } else { Outcome::Failed(code.number()) };
        if is_counted(code) || self.0.is_counted() {
            self.0.count(|record| record.outcome = outcome);
        } else {
            self.0.end(|record| record.outcome = outcome);
        }
    }
}

/// Records that a call was refused because of its caller. Other errors are not recorded.
pub(crate) fn refused(
    (access, audit): (&Access, &Audit),
    session: &Session,
    what: &'static str,
    concern: Option<(&Concern<'_>, Option<String>)>,
    error: &Error,
) {
    let code = error.code();
    if is_refusal(code) {
        let (named, object) = concern.map_or((None, None), |(concern, object)| (concern.context(), object));
        // All contexts that do not exist count as one kind, because there is no limit to them.
        let context = named.filter(|context| access.knows(*context));
        let absent = named.filter(|_| context.is_none()).map(|absent| self::object("context", absent));
        let object = absent.or(object);
        audit.refusal(|| Record { context, object, ..of(session, what, Outcome::Refused(code.number())) });
    }
}

/// Whether a call with this outcome is counted with others of its kind: it did nothing, and can be repeated at will.
const fn is_counted(code: Code) -> bool {
    is_refusal(code) || matches!(code, Code::InvalidParams | Code::RateLimited)
}

const fn is_refusal(code: Code) -> bool {
    matches!(code, Code::PermissionDenied | Code::NotAuthenticated)
}

/// Returns the record for a session.
pub(crate) fn of(session: &Session, what: &'static str, outcome: Outcome) -> Record {
    let (who, peer) = match session.principal() {
        Principal::Anonymous => (Who::Anonymous, Some(session.peer())),
        Principal::Operator => (Who::Operator, None),
        Principal::Identity(login) => (Who::Identity(login.identity(), login.token().clone()), Some(session.peer())),
    };
    Record { peer, ..Record::new(who, what, outcome) }
}

/// Returns the concern of a call as text for a record.
pub(crate) fn named(concern: &Concern<'_>) -> Option<String> {
    match concern {
        Concern::Server | Concern::Context(_) | Concern::JobsOf(..) | Concern::NewFlow(_) => None,
        Concern::Job(_, id) => Some(object("job", id)),
        Concern::NewJobs(_, specs) => jobs(specs.iter().filter_map(|spec| spec.job_id.as_ref())),
        Concern::Messages(..) => None,
        Concern::Flow(_, id) => Some(object("flow", id)),
        Concern::Schedule(_, id) => Some(object("schedule", id)),
        Concern::Identity(id) | Concern::Fellow(id) => Some(object("identity", id)),
        Concern::Token(id) => Some(object("token", id)),
    }
}

/// Returns one object as text for a record.
pub fn object(kind: &str, id: impl std::fmt::Display) -> String {
    format!("{kind}:{}", excerpt(&id.to_string(), MAX_NAME_CHARS))
}

/// Returns jobs as text for a record.
pub(crate) fn jobs<'j>(ids: impl Iterator<Item = &'j JobId>) -> Option<String> {
    let ids: Vec<String> = ids.map(|id| object("job", id)).collect();
    (!ids.is_empty()).then(|| ids.join(" "))
}
