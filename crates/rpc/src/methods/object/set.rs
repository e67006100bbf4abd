use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use super::{ada, object, people};
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method, Within};
use crate::methods::tag;
use crate::session::act;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, Json, Name, ObjectId};

fn another() -> Json {
    json!({"id": "grace", "name": "Grace Hopper", "born": 1906}).into()
}

/// Stores an object in a collection, and replaces one with the same id. Returns its id.
///
/// The id is the field `id` of the object; an object without it gets a new one. The object and its index entries are
/// written in one step. A collection exists once it has an object. An object that violates the schema of its collection
/// is refused (-32602), and so is one of more than 240 KB (1008). A call without an id stores a second object if it is
/// repeated after its answer was lost.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetObject {
    /// The collection.
    collection: Name,
    /// The object.
    object: Fields,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

/// JSON that is an object.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Fields(Json);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        let given = match json.as_str().as_bytes() {
            [b'{', ..] => return Ok(Self(json)),
            [b'[', ..] => Unexpected::Seq,
            [b'"', ..] => Unexpected::Other("a text"),
            [b'n', ..] => Unexpected::Unit,
            _ => Unexpected::Other("another value"),
        };
        Err(D::Error::invalid_type(given, &"an object"))
    }
}

impl JsonSchema for Fields {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Fields".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}

impl Method for SetObject {
    const NAME: &'static str = "set_object";
    const TAG: &'static str = tag::OBJECTS;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = &[Code::QueueFull, Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The id of the object.";
    type Output = ObjectId;

    fn examples() -> Vec<Example<Self, ObjectId>> {
        let set = |object| Self { collection: people(), object: Fields(object), context_id: ContextId(0) };
        vec![
            Example { name: "set", params: set(object()), result: ada() },
            Example { name: "set another", params: set(another()), result: "grace".parse().expect("grace is an id") },
        ]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    fn names(&self) -> Option<String> {
        Some(act::object("collection", &self.collection))
    }

    async fn call_within(self, app: &App, session: &Session, within: Within<'_>) -> Result<ObjectId, Error> {
        let collection = self.collection.clone();
        let id = self.call(app, session).await?;
        within.act.done(Some(act::object("object", format!("{collection}/{id}"))));
        Ok(id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<ObjectId, Error> {
        Ok(app.dispatcher.contexts().objects(self.context_id).await?.set(&self.collection, &self.object.0).await?)
    }
}
