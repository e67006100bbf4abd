//! What callers do, as the audit log has it: each call that changes something, and each that is refused.

use super::access::Access;
use super::auth::{Permission, Principal, Session};
use super::error::{Code, Error};
use super::guard::Concern;
use hero_access::Login;
use hero_audit::{Audit, Doing, Outcome, Record, Who};
use hero_model::{ContextId, JobId, excerpt};

/// How many characters of a name that a caller chose are recorded.
const NAME: usize = 256;

/// A call that will be a record of the audit log. One that never ends, because its caller left or it took too long, is recorded, too.
#[derive(Debug)]
pub struct Act(Doing);

impl Act {
    /// A call that is no record.
    pub(super) const NONE: Self = Self(Doing::NONE);

    /// A call that is allowed and begins now, and what it is about. What changes something is refused where it could not be recorded.
    pub(super) fn begin(
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
        // What needs no role can be tried by anybody, or by every identity.
        let is_for_all = matches!(permission, Permission::Public | Permission::Identity);
        Ok(Self(if is_for_all { begun.counted() } else { begun }))
    }

    /// The call has done what it is for, though it may not have ended. `made` is what it has made, if that is known only now.
    pub fn done(&mut self, made: Option<String>) {
        self.0.end(|record| {
            record.outcome = Outcome::Ok;
            record.object = made.or(record.object.take());
        });
    }

    /// The same, where it can be done as often as its caller likes: it is counted with others of its kind, as refusals are.
    pub(super) fn done_once_more(&mut self) {
        self.0.count(|record| record.outcome = Outcome::Ok);
    }

    /// It is known now who makes the call: its token says so.
    pub(super) fn by(&mut self, login: &Login) {
        self.0.tell(|record| record.who = Who::Identity(login.identity(), login.token().clone()));
    }

    /// The call has come to nothing, unless it was done before.
    pub(super) fn failed(&mut self, code: Code) {
        let outcome = if is_refusal(code) { Outcome::Refused(code.number()) } else { Outcome::Failed(code.number()) };
        if is_counted(code) || self.0.is_counted() {
            self.0.count(|record| record.outcome = outcome);
        } else {
            self.0.end(|record| record.outcome = outcome);
        }
    }
}

/// Records that a call was refused because of who makes it. Other errors are none.
pub(super) fn refused(
    (access, audit): (&Access, &Audit),
    session: &Session,
    what: &'static str,
    concern: Option<(&Concern<'_>, Option<String>)>,
    error: &Error,
) {
    let code = error.code();
    if is_refusal(code) {
        let (named, object) = concern.map_or((None, None), |(concern, object)| (concern.context(), object));
        // Those that do not exist are one kind: there is no end to them.
        let context = named.filter(|context| access.knows(*context));
        let absent = named.filter(|_| context.is_none()).map(|absent| self::object("context", absent));
        let object = absent.or(object);
        audit.refusal(|| Record { context, object, ..of(session, what, Outcome::Refused(code.number())) });
    }
}

/// Whether a call that ended so is counted with others of its kind: it did nothing, and can be made as often as its caller likes.
const fn is_counted(code: Code) -> bool {
    is_refusal(code) || matches!(code, Code::InvalidParams | Code::RateLimited)
}

const fn is_refusal(code: Code) -> bool {
    matches!(code, Code::PermissionDenied | Code::NotAuthenticated)
}

/// The record of a session.
pub(super) fn of(session: &Session, what: &'static str, outcome: Outcome) -> Record {
    let (who, peer) = match session.principal() {
        Principal::Anonymous => (Who::Anonymous, Some(session.peer())),
        Principal::Operator => (Who::Operator, None),
        Principal::Identity(login) => (Who::Identity(login.identity(), login.token().clone()), Some(session.peer())),
    };
    Record { peer, ..Record::new(who, what, outcome) }
}

/// What a call concerns, in a record.
pub(super) fn named(concern: &Concern<'_>) -> Option<String> {
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

/// One thing, in a record.
pub fn object(kind: &str, id: impl std::fmt::Display) -> String {
    format!("{kind}:{}", excerpt(&id.to_string(), NAME))
}

/// Jobs, in a record.
pub(super) fn jobs<'j>(ids: impl Iterator<Item = &'j JobId>) -> Option<String> {
    let ids: Vec<String> = ids.map(|id| object("job", id)).collect();
    (!ids.is_empty()).then(|| ids.join(" "))
}
