use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{object, people};
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{PageSize, is_default, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_jobs::dispatch::Room;
use hero_model::{Condition, ContextId, Find, Json, Name, ObjectPage, each_once};

/// Finds objects of a collection, by default all, ordered by id or by an indexed field.
///
/// A condition uses the index of its field, if there is one. Otherwise objects are read one after another, at most
/// 10,000 for a page, and the answer says so (`compared`): such a page may be short although more follow. Scripts
/// create indexes with `osis::index`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindObjects {
    /// The collection. One that does not exist has no objects.
    collection: Name,
    /// The conditions by field: `{"city": "Ghent", "born": {"gte": 1800, "lt": 1900}, "name": {"prefix": "A"}}`. An
    /// array matches if one of its elements does, and a missing field is `null`. `address.zip` names a nested field.
    #[serde(default, rename = "filter", deserialize_with = "each_once", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, Value>")]
    conditions: BTreeMap<String, Condition>,
    /// The field to sort by, which needs an index; the id by default.
    order_by: Option<String>,
    /// Whether the order is reversed.
    #[serde(default, skip_serializing_if = "is_default")]
    descending: bool,
    /// The maximum number of objects.
    #[serde(default)]
    limit: PageSize,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for FindObjects {
    const NAME: &'static str = "find_objects";
    const TAG: &'static str = tag::OBJECTS;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = &[Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The matching objects.";
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
        Ok(app.dispatcher.contexts().objects(self.context_id).await?.find(&self.collection, &query, Room::OF_CLIENT).await?)
    }
}
