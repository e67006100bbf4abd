//! Queues.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tag;
use crate::model::{ContextId, Priority, QueueInfo, ScriptType};
use crate::rpc::app::App;
use crate::rpc::auth::{Permission, Session};
use crate::rpc::error::{Code, Error};
use crate::rpc::method::{Example, Method};

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
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    type Output = Vec<QueueInfo>;

    fn examples() -> Vec<Example<Self, Vec<QueueInfo>>> {
        let queue = QueueInfo {
            name: "hero:q:work:type:osis".into(),
            script_type: ScriptType::osis(),
            group: None,
            instance: None,
            priority: Priority::Normal,
            depth: 0,
            actors: 2,
        };
        vec![Example { name: "queues", params: Self { context_id: ContextId(0) }, result: vec![queue] }]
    }

    async fn call(self, app: &App, _: &Session) -> Result<Vec<QueueInfo>, Error> {
        Ok(app.dispatcher.queues(self.context_id).await?)
    }
}
