use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, Priority, QueueInfo, ScriptType};

/// Lists the work queues, each with its number of waiting jobs and of actors.
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
    const EFFECT: Effect = Effect::Reads;
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
        Ok(app.dispatcher.queues().list(self.context_id).await?)
    }
}
