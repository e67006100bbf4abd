use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ada, object, people};
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_jobs::dispatch;
use hero_model::{ContextId, Json, Name, ObjectId};

/// Returns an object.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetObject {
    /// The collection.
    collection: Name,
    /// The id of the object.
    id: ObjectId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for GetObject {
    const NAME: &'static str = "get_object";
    const TAG: &'static str = tag::OBJECTS;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = &[Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The object, or null if there is none.";
    type Output = Json;

    fn examples() -> Vec<Example<Self, Json>> {
        vec![Example { name: "get", params: Self { collection: people(), id: ada(), context_id: ContextId(0) }, result: object() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Json, Error> {
        let object = app.dispatcher.contexts().objects(self.context_id).await?.get(&self.collection, &self.id).await?;
        Ok(object.ok_or(dispatch::Error::NoObject { collection: self.collection, id: self.id })?)
    }
}
