// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::{Collection, ContextId, Find, Json, Name, ObjectId, ObjectPage};

/// Stores an object in a collection, and replaces one with the same id. Returns its id. The id is the field `id` of the
/// object; an object without it gets a new one. The object and its index entries are written in one step. A collection
/// exists once it has an object. An object that violates the schema of its collection is refused (-32602), and so is
/// one of more than 240 KB (1008). A call without an id stores a second object if it is repeated after its answer was
/// lost.
#[derive(Serialize)]
pub struct SetObject<'a> {
    /// The collection.
    pub collection: &'a Name,
    /// The object.
    pub object: &'a Json,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for SetObject<'_> {
    const NAME: &'static str = "set_object";
    type Output = ObjectId;
}

/// Returns an object.
#[derive(Serialize)]
pub struct GetObject<'a> {
    /// The collection.
    pub collection: &'a Name,
    /// The id of the object.
    pub id: &'a ObjectId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for GetObject<'_> {
    const NAME: &'static str = "get_object";
    type Output = Json;
}

/// Finds objects of a collection, by default all, ordered by id or by an indexed field. A condition uses the index of
/// its field, if there is one. Otherwise objects are read one after another, at most 10,000 for a page, and the answer
/// says so (`compared`): such a page may be short although more follow. Scripts create indexes with `osis::index`.
#[derive(Serialize)]
pub struct FindObjects<'a> {
    /// The other parameters.
    #[serde(flatten)]
    pub find: &'a Find,
    /// The collection. One that does not exist has no objects.
    pub collection: &'a Name,
    /// The context they belong to.
    pub context_id: ContextId,
}

impl Call for FindObjects<'_> {
    const NAME: &'static str = "find_objects";
    type Output = ObjectPage;
}

/// Deletes an object. Returns whether it existed.
#[derive(Serialize)]
pub struct DeleteObject<'a> {
    /// The collection.
    pub collection: &'a Name,
    /// The id of the object.
    pub id: &'a ObjectId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for DeleteObject<'_> {
    const NAME: &'static str = "delete_object";
    type Output = bool;
}

/// Lists the collections of objects by name, each with its number of objects and its indexes.
#[derive(Default, Serialize)]
pub struct ListCollections {
    /// The context they belong to.
    pub context_id: ContextId,
}

impl Call for ListCollections {
    const NAME: &'static str = "list_collections";
    type Output = Vec<Collection>;
}

/// Deletes a collection with all its objects and indexes. Returns the number of objects that it had, or `null` if it
/// did not exist.
#[derive(Serialize)]
pub struct DropCollection<'a> {
    /// The collection.
    pub collection: &'a Name,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for DropCollection<'_> {
    const NAME: &'static str = "drop_collection";
    type Output = Option<u64>;
}
