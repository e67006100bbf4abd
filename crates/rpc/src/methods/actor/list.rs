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
use hero_model::{Actor, ContextId, Name, Presence, ScriptType};

/// Lists the live actors, with their capabilities and their confinement. The list includes actors of other programs
/// that send heartbeats. After them come the script types for which this server should have actors and cannot, each
/// with the reason (`unavailable`).
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListActors {
    /// The context they work for.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ListActors {
    const NAME: &'static str = "list_actors";
    const TAG: &'static str = tag::OPERATION;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = &[Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The actors.";
    type Output = Vec<Actor>;

    fn examples() -> Vec<Example<Self, Vec<Actor>>> {
        let presence = Presence {
            pid: Some(4711),
            hostname: Some("worker-1".into()),
            started_at: Some(sample::time(0)),
            version: Some(env!("CARGO_PKG_VERSION").into()),
            last_heartbeat: Some(sample::time(2)),
            in_flight: Some(0),
            confinement: Some("rlimits, no_new_privs, landlock".into()),
            ..Presence::default()
        };
        let group = Name::default_group();
        let actor = Actor { script_type: ScriptType::osis(), group, instance: 1, foreign: false, unavailable: None, presence };
        vec![Example { name: "actors", params: Self { context_id: ContextId(0) }, result: vec![actor] }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Vec<Actor>, Error> {
        let mut actors = app.dispatcher.actors().list(self.context_id).await?;
        actors.extend(app.dispatcher.actors().absent());
        Ok(actors)
    }
}
