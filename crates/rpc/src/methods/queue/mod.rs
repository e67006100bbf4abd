//! Queues.

mod list;
mod pause;
mod resume;

pub use list::ListQueues;
pub use pause::PauseQueue;
pub use resume::ResumeQueue;

use crate::session::act::object;
use hero_model::{Name, Priority, Queue, ScriptType, Target};

/// Returns the queue of a type, a group or one actor, in its normal priority.
fn named(script_type: ScriptType, group: Option<Name>, instance: Option<u32>) -> Queue {
    Queue { script_type, target: Target::of(group, instance), priority: Priority::Normal }
}

/// Returns a queue in the format of the audit log.
fn audited(script_type: &ScriptType, group: Option<&Name>, instance: Option<u32>) -> String {
    let target = match (group, instance) {
        (None, None) => String::new(),
        (Some(group), None) => format!(":{group}"),
        (group, Some(instance)) => format!(":{}:{instance}", group.map_or("default", Name::as_str)),
    };
    object("queue", format!("{script_type}{target}"))
}
