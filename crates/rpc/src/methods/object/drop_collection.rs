use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::people;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::act;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, Name};

/// Deletes a collection with all its objects and indexes. Returns the number of objects that it had, or `null` if it
/// did not exist.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropCollection {
    /// The collection.
    collection: Name,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for DropCollection {
    const NAME: &'static str = "drop_collection";
    const TAG: &'static str = tag::OBJECTS;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "The number of objects that it had, or null if that is not known.";
    type Output = Option<u64>;

    fn examples() -> Vec<Example<Self, Option<u64>>> {
        vec![Example { name: "drop", params: Self { collection: people(), context_id: ContextId(0) }, result: Some(1) }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    fn names(&self) -> Option<String> {
        Some(act::object("collection", &self.collection))
    }

    async fn call(self, app: &App, _: &Session) -> Result<Option<u64>, Error> {
        Ok(app.dispatcher.contexts().objects(self.context_id).await?.drop_collection(&self.collection).await?)
    }
}
