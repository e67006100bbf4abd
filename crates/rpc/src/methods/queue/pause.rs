use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{audited, named};
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, Name, ScriptType};

/// Pauses a queue, in all priorities, until it is resumed. Returns true.
///
/// Running jobs continue, and new ones wait. The queue of a type is not that of its groups and instances: each is
/// paused by itself.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseQueue {
    /// The script type of the queue.
    script_type: ScriptType,
    /// The group of the queue. Without a group and an instance, it is the queue of the whole type.
    group: Option<Name>,
    /// The instance of the queue, in the group `default` if none is named.
    instance: Option<u32>,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for PauseQueue {
    const NAME: &'static str = "pause_queue";
    const TAG: &'static str = tag::OPERATION;
    const PERMISSION: Permission = Permission::Administer;
    const EFFECT: Effect = Effect::Replaces;
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
        app.dispatcher.queues().pause(self.context_id, &named(self.script_type, self.group, self.instance)).await?;
        Ok(true)
    }
}
