//! What callers do, as the audit log has it: each call that changes something, and each that is refused.

use super::auth::{Permission, Principal, Session};
use super::error::{Code, Error};
use super::guard::Concern;
use crate::audit::{Audit, Doing, Outcome, Record, Who};
use crate::model::{ContextId, JobId, excerpt};

/// How many characters of a name that a caller chose are recorded.
const NAME: usize = 256;

/// A call that will be a record of the audit log. One that never ends, because its caller left or it took too long, is recorded, too.
///
/// One that everybody may make is a record of its own only when it has done what it is for. If it has not, it is counted as refusals are: whoever makes it did
/// not need to be anybody for that.
#[derive(Debug)]
pub struct Act {
    doing: Doing,
    /// Where it is counted, if it comes to nothing and everybody may make it.
    counted: Option<Audit>,
}

impl Act {
    /// A call that is no record.
    pub(super) const NONE: Self = Self { doing: Doing::NONE, counted: None };

    /// A call that is allowed and begins now, and what it is about. What changes something is refused where it could not be recorded.
    pub(super) fn begin(
        audit: &Audit,
        session: &Session,
        what: &'static str,
        permission: Permission,
        about: impl FnOnce() -> (Option<ContextId>, Option<String>),
    ) -> Result<Self, Error> {
        let record = || {
            let (context, object) = about();
            Record { context, object, ..of(session, what, Outcome::Unknown) }
        };
        let counted = (permission == Permission::Public).then(|| audit.clone());
        Ok(Self { doing: audit.begin(record)?, counted })
    }

    /// The call has done what it is for, though it may not have ended. `made` is what it has made, if that is known only now.
    pub fn done(&mut self, made: Option<String>) {
        self.doing.end(|record| {
            record.outcome = Outcome::Ok;
            record.object = made.or(record.object.take());
        });
    }

    /// The call has come to nothing, unless it was done before.
    pub(super) fn failed(&mut self, audit: &Audit, code: Code) {
        let outcome = if is_refusal(code) { Outcome::Refused(code.number()) } else { Outcome::Failed(code.number()) };
        if !is_refusal(code) && self.counted.is_none() {
            return self.doing.end(|record| record.outcome = outcome);
        }
        if let Some(record) = self.doing.give_up() {
            audit.refusal(|| Record { outcome, ..record });
        }
    }
}

impl Drop for Act {
    fn drop(&mut self) {
        if let Some(audit) = &self.counted
            && let Some(record) = self.doing.give_up()
        {
            audit.refusal(|| record);
        }
    }
}

/// Records that a call was refused because of who makes it. Other errors are none.
pub(super) fn refused(
    audit: &Audit,
    session: &Session,
    what: &'static str,
    concern: Option<(&Concern<'_>, Option<String>)>,
    error: &Error,
) {
    let code = error.code();
    if is_refusal(code) {
        let (context, object) = concern.map_or((None, None), |(concern, object)| (concern.context(), object));
        audit.refusal(|| Record { context, object, ..of(session, what, Outcome::Refused(code.number())) });
    }
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
        Concern::Identity(id) => Some(object("identity", id)),
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
