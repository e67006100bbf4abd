use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ada, people};
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::act;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, Name, ObjectId};

/// Deletes an object. Returns whether it existed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteObject {
    /// The collection.
    collection: Name,
    /// The id of the object.
    id: ObjectId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for DeleteObject {
    const NAME: &'static str = "delete_object";
    const TAG: &'static str = tag::OBJECTS;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "Whether the object existed.";
    type Output = bool;

    fn examples() -> Vec<Example<Self, bool>> {
        vec![Example { name: "delete", params: Self { collection: people(), id: ada(), context_id: ContextId(0) }, result: true }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    fn names(&self) -> Option<String> {
        Some(act::object("object", format!("{}/{}", self.collection, self.id)))
    }

    async fn call(self, app: &App, _: &Session) -> Result<bool, Error> {
        Ok(app.dispatcher.contexts().objects(self.context_id).await?.delete(&self.collection, &self.id).await?)
    }
}
