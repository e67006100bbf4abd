//! Queues.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{sample, tag};
use crate::act::object;
use crate::app::App;
use crate::auth::{Permission, Session};
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::memory::Size;
use crate::method::{Example, Method};
use hero_model::{ContextId, Name, Priority, Queue, QueueInfo, ScriptType, Target};

/// Lists the work queues, with how many jobs wait in each and how many actors take from it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListQueues {
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ListQueues {
    const NAME: &'static str = "list_queues";
    const TAG: &'static str = tag::OPERATION;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The queues.";
    type Output = Vec<QueueInfo>;

    fn examples() -> Vec<Example<Self, Vec<QueueInfo>>> {
        let queue = QueueInfo {
            name: sample::queue_name(ScriptType::osis()),
            script_type: ScriptType::osis(),
            group: None,
            instance: None,
            priority: Priority::Normal,
            depth: 0,
            actors: 2,
            paused: false,
        };
        vec![Example { name: "queues", params: Self { context_id: ContextId(0) }, result: vec![queue] }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Vec<QueueInfo>, Error> {
        Ok(app.dispatcher.queues(self.context_id).await?)
    }
}

/// The queue of a type, a group or one actor, in its normal priority.
fn named(script_type: ScriptType, group: Option<Name>, instance: Option<u32>) -> Queue {
    Queue { script_type, target: Target::of(group, instance), priority: Priority::Normal }
}

/// A queue, as the audit log has it.
fn audited(script_type: &ScriptType, group: Option<&Name>, instance: Option<u32>) -> String {
    let target = match (group, instance) {
        (None, None) => String::new(),
        (Some(group), None) => format!(":{group}"),
        (group, Some(instance)) => format!(":{}:{instance}", group.map_or("default", Name::as_str)),
    };
    object("queue", format!("{script_type}{target}"))
}

/// Has nothing taken from one queue, in any priority, until it is resumed. Gives true.
///
/// Running jobs go on, and new ones wait. The queue of a type is not that of its groups and instances: each is paused by itself.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseQueue {
    /// The script type of the queue.
    script_type: ScriptType,
    /// The group of the queue; without it, and without an instance, it is the queue of the whole type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    group: Option<Name>,
    /// The instance of the queue, in the group `default` if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    instance: Option<u32>,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for PauseQueue {
    const NAME: &'static str = "pause_queue";
    const TAG: &'static str = tag::OPERATION;
    const PERMISSION: Permission = Permission::Administer;
    const ERRORS: &'static [Code] = &[Code::UnknownScriptType, Code::QueueFull, Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "True.";
    type Output = bool;

    fn examples() -> Vec<Example<Self, bool>> {
        let group = Some("io".parse().expect("io is a name"));
        let params = Self { script_type: ScriptType::sal(), group, instance: None, context_id: ContextId(0) };
        vec![Example { name: "pause", params, result: true }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    fn names(&self) -> Option<String> {
        Some(audited(&self.script_type, self.group.as_ref(), self.instance))
    }

    async fn call(self, app: &App, _: &Session) -> Result<bool, Error> {
        app.dispatcher.pause(self.context_id, &named(self.script_type, self.group, self.instance)).await?;
        Ok(true)
    }
}

/// Has a paused queue served again, at once. Gives true, also if it was not paused; a type that nobody knows is refused.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeQueue {
    /// The script type of the queue.
    script_type: ScriptType,
    /// The group of the queue; without it, and without an instance, it is the queue of the whole type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    group: Option<Name>,
    /// The instance of the queue, in the group `default` if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    instance: Option<u32>,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ResumeQueue {
    const NAME: &'static str = "resume_queue";
    const TAG: &'static str = tag::OPERATION;
    const PERMISSION: Permission = Permission::Administer;
    const ERRORS: &'static [Code] = &[Code::UnknownScriptType, Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "True.";
    type Output = bool;

    fn examples() -> Vec<Example<Self, bool>> {
        let group = Some("io".parse().expect("io is a name"));
        let params = Self { script_type: ScriptType::sal(), group, instance: None, context_id: ContextId(0) };
        vec![Example { name: "resume", params, result: true }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    fn names(&self) -> Option<String> {
        Some(audited(&self.script_type, self.group.as_ref(), self.instance))
    }

    async fn call(self, app: &App, _: &Session) -> Result<bool, Error> {
        app.dispatcher.resume(self.context_id, &named(self.script_type, self.group, self.instance)).await?;
        Ok(true)
    }
}
