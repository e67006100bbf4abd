//! What the audit log has of messages that come, and of stops.

use super::envelope::Envelope;
use hero_audit::{Outcome, Record, Who};
use hero_model::{ContextId, JobId, MessageKey, MessageType};
use hero_store::MadeJobs;

/// What each of these records is called.
const WHAT: &str = "receive";
/// And those of stops that come, and of those that have gone.
const RECEIVE_STOP: &str = "receive_stop";
const SEND_STOP: &str = "send_stop";
/// The code of the wire for what somebody may not do.
const DENIED: i32 = 1004;

/// The record of an envelope that is about to be stored.
pub(super) fn of(who: Who, envelope: &Envelope) -> Record {
    // A result is that of a message of this side.
    let answered = envelope.message_type == MessageType::Result;
    let message_id = if answered { envelope.answers } else { envelope.message_id };
    let object = MessageKey { caller_id: envelope.caller_id, message_id }.to_string();
    Record {
        context: Some(envelope.target_context),
        object: Some(object),
        caller: Some(envelope.caller_id.to_string()),
        ..Record::new(who, WHAT, Outcome::Unknown)
    }
}

/// The record of a message that another program has put into `msg_in`, and whose jobs are about to be made.
pub(super) fn of_other_program(key: MessageKey, context: ContextId) -> Record {
    Record {
        context: Some(context),
        object: Some(key.to_string()),
        caller: Some(key.caller_id.to_string()),
        ..Record::new(Who::Server, WHAT, Outcome::Unknown)
    }
}

/// It is stored: with these jobs, by the names by which they are known outside and the ids that they have here.
pub(super) fn made(record: &mut Record, made: &MadeJobs) {
    record.outcome = Outcome::Ok;
    if !made.message.is_empty() {
        let jobs = made.jobs.iter().map(|(name, id)| format!(" {name} job:{id}"));
        record.object = Some(std::iter::once(made.message.clone()).chain(jobs).collect());
    }
}

/// The record of a stop that came and is about to be carried out.
pub(super) fn of_stop(who: Who, envelope: &Envelope) -> Record {
    Record {
        context: Some(envelope.target_context),
        object: Some(MessageKey { caller_id: envelope.caller_id, message_id: envelope.answers }.to_string()),
        caller: Some(envelope.caller_id.to_string()),
        ..Record::new(who, RECEIVE_STOP, Outcome::Unknown)
    }
}

/// It is carried out: these jobs were stopped.
pub(super) fn stopped(record: &mut Record, jobs: &[(JobId, bool)]) {
    record.outcome = Outcome::Ok;
    let jobs: String = jobs.iter().map(|(id, _)| format!(" job:{id}")).collect();
    record.object = record.object.take().map(|object| format!("{object}{jobs}"));
}

/// The record of a stop of which the other side knows.
pub(super) fn stop_told(key: MessageKey, job: Option<&JobId>, context: ContextId) -> Record {
    let job = job.map(|job| format!(" job:{job}")).unwrap_or_default();
    Record {
        context: Some(context),
        object: Some(format!("{key}{job}")),
        caller: Some(key.caller_id.to_string()),
        ..Record::new(Who::Server, SEND_STOP, Outcome::Ok)
    }
}

/// The record of an envelope that was refused. Who it is of is not known, and what it names may be anything.
pub(super) fn refused(envelope: &Envelope) -> Record {
    let object = Some(format!("target:{}", envelope.target_context));
    Record { object, ..Record::new(Who::Anonymous, WHAT, Outcome::Refused(DENIED)) }
}
