//! The records of incoming messages, and of stops, in the audit log.

use super::envelope::Envelope;
use hero_audit::{Outcome, Record, Who};
use hero_model::api::Code;
use hero_model::{ContextId, JobId, MessageKey, MessageType};
use hero_store::MadeJobs;

/// The method name of records of messages.
const WHAT: &str = "receive";
/// The method names of records of incoming and outgoing stops.
const RECEIVE_STOP: &str = "receive_stop";
const SEND_STOP: &str = "send_stop";

/// Returns the record of an envelope that is about to be stored.
pub(super) fn of(who: Who, envelope: &Envelope) -> Record {
    // A result belongs to a message of this side.
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

/// Returns the record of a message that another program put into `msg_in`, and whose jobs are about to be created.
pub(super) fn of_other_program(key: MessageKey, context: ContextId) -> Record {
    Record {
        context: Some(context),
        object: Some(key.to_string()),
        caller: Some(key.caller_id.to_string()),
        ..Record::new(Who::Server, WHAT, Outcome::Unknown)
    }
}

/// Completes a record of a stored message with its jobs: their names at the sender, and their ids here.
pub(super) fn made(record: &mut Record, made: &MadeJobs) {
    record.outcome = Outcome::Ok;
    if !made.message.is_empty() {
        let jobs = made.jobs.iter().map(|(name, id)| format!(" {name} job:{id}"));
        record.object = Some(std::iter::once(made.message.clone()).chain(jobs).collect());
    }
}

/// Returns the record of an incoming stop that is about to be carried out.
pub(super) fn of_stop(who: Who, envelope: &Envelope) -> Record {
    Record {
        context: Some(envelope.target_context),
        object: Some(MessageKey { caller_id: envelope.caller_id, message_id: envelope.answers }.to_string()),
        caller: Some(envelope.caller_id.to_string()),
        ..Record::new(who, RECEIVE_STOP, Outcome::Unknown)
    }
}

/// Completes a record of a stop with the jobs that were stopped.
pub(super) fn stopped(record: &mut Record, jobs: &[(JobId, bool)]) {
    record.outcome = Outcome::Ok;
    let jobs: String = jobs.iter().map(|(id, _)| format!(" job:{id}")).collect();
    record.object = record.object.take().map(|object| format!("{object}{jobs}"));
}

/// Returns the record of a stop that the other side has acknowledged.
pub(super) fn stop_told(key: MessageKey, job: Option<&JobId>, context: ContextId) -> Record {
    let job = job.map(|job| format!(" job:{job}")).unwrap_or_default();
    Record {
        context: Some(context),
        object: Some(format!("{key}{job}")),
        caller: Some(key.caller_id.to_string()),
        ..Record::new(Who::Server, SEND_STOP, Outcome::Ok)
    }
}

/// Returns the record of an envelope that was refused. Its sender is unknown, and it may name anything.
pub(super) fn refused(envelope: &Envelope) -> Record {
    let object = Some(format!("target:{}", envelope.target_context));
    Record { object, ..Record::new(Who::Anonymous, WHAT, Outcome::Refused(Code::PermissionDenied.number())) }
}
