//! Objects that scripts of type `osis` store, for clients.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::{PageSize, is_default, tag};
use crate::act;
use crate::app::App;
use crate::auth::{Permission, Session};
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::memory::Size;
use crate::method::{Example, Method, Within};
use hero_jobs::dispatch::{self, Room};
use hero_model::{Collection, Condition, ContextId, Find, Json, Name, ObjectId, ObjectPage, each_once};

fn people() -> Name {
    "people".parse().expect("people is a name")
}

fn ada() -> ObjectId {
    "ada".parse().expect("ada is an id")
}

fn object() -> Json {
    json!({"id": "ada", "name": "Ada Lovelace", "born": 1815}).into()
}

fn another() -> Json {
    json!({"id": "grace", "name": "Grace Hopper", "born": 1906}).into()
}

/// Stores an object in a collection, in place of one with the same id. Gives its id.
///
/// The id is its field `id`; without that it gets a new one. The object and what stands in indexes for it are written in one step. A collection
/// is there as soon as it has an object. An object that does not fit the schema of its collection is refused (-32602), and so is one of
/// more than 240 KB (1008). A call without an id that is repeated after an answer was lost stores a second object.
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
        Ok(app.dispatcher.objects(self.context_id).await?.set(&self.collection, &self.object.0).await?)
    }
}

/// Gives an object.
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
        let object = app.dispatcher.objects(self.context_id).await?.get(&self.collection, &self.id).await?;
        Ok(object.ok_or(dispatch::Error::NoObject { collection: self.collection, id: self.id })?)
    }
}

/// Finds objects of a collection, all by default, in the order of their ids or of a field with an index.
///
/// A field is asked for by an index if it has one. Otherwise objects are read one after another, at most 10,000 for a page, and the answer
/// says so (`compared`): such a page may be short although more follow. Scripts make indexes by `osis::index`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindObjects {
    /// The collection. One that does not exist has no objects.
    collection: Name,
    /// What fields have to be: `{"city": "Ghent", "born": {"gte": 1800, "lt": 1900}, "name": {"prefix": "A"}}`. A field that is an array
    /// fits if one of its elements does, and one that is not there is `null`; `address.zip` is a field of a field.
    #[serde(default, rename = "filter", deserialize_with = "each_once", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, Value>")]
    conditions: BTreeMap<String, Condition>,
    /// The field to sort by, which needs an index; the id by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    order_by: Option<String>,
    /// Whether the last comes first.
    #[serde(default, skip_serializing_if = "is_default")]
    descending: bool,
    /// The most objects to give.
    #[serde(default)]
    limit: PageSize,
    /// The `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    cursor: Option<String>,
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for FindObjects {
    const NAME: &'static str = "find_objects";
    const TAG: &'static str = tag::OBJECTS;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The objects that fit.";
    type Output = ObjectPage;

    fn examples() -> Vec<Example<Self, ObjectPage>> {
        let born = Condition::try_from(Json::from(json!({"gte": 1800, "lt": 1900}))).expect("that is a condition");
        let params = Self {
            collection: people(),
            conditions: BTreeMap::from([("born".to_owned(), born)]),
            order_by: None,
            descending: false,
            limit: PageSize::default(),
            cursor: None,
            context_id: ContextId(0),
        };
        let result = ObjectPage { objects: vec![object()], next_cursor: None, compared: vec!["born".into()], looked_at: 2 };
        vec![Example { name: "find", params, result }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<ObjectPage, Error> {
        let query = Find {
            conditions: self.conditions,
            order_by: self.order_by,
            descending: self.descending,
            limit: u32::try_from(self.limit.get()).ok(),
            cursor: self.cursor,
        };
        Ok(app.dispatcher.objects(self.context_id).await?.find(&self.collection, &query, Room::OF_CLIENT).await?)
    }
}

/// Deletes an object. Gives whether there was one.
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
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "Whether there was such an object.";
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
        Ok(app.dispatcher.objects(self.context_id).await?.delete(&self.collection, &self.id).await?)
    }
}

/// Lists the collections of objects in the order of their names, each with how many objects it has, and its indexes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListCollections {
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ListCollections {
    const NAME: &'static str = "list_collections";
    const TAG: &'static str = tag::OBJECTS;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The collections.";
    type Output = Vec<Collection>;

    fn examples() -> Vec<Example<Self, Vec<Collection>>> {
        let people = Collection { name: people(), objects: 1, indexes: Vec::new(), typed: false };
        vec![Example { name: "collections", params: Self { context_id: ContextId(0) }, result: vec![people] }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Vec<Collection>, Error> {
        Ok(app.dispatcher.objects(self.context_id).await?.collections().await?)
    }
}

/// Deletes a collection with all its objects and indexes. Gives how many objects there were; `null` if there was no such collection.
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
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "How many objects there were, or null if that is not known.";
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
        Ok(app.dispatcher.objects(self.context_id).await?.drop_collection(&self.collection).await?)
    }
}
