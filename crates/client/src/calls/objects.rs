// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::{Collection, ContextId, Find, Json, Name, ObjectId, ObjectPage};

/// Stores an object in a collection, in place of one with the same id. Gives its id. The id is its field `id`; without
/// that it gets a new one. The object and what stands in indexes for it are written in one step. A collection is there
/// as soon as it has an object. An object that does not fit the schema of its collection is refused (-32602), and so is
/// one of more than 240 KB (1008). A call without an id that is repeated after an answer was lost stores a second
/// object.
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

/// Gives an object.
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

/// Finds objects of a collection, all by default, in the order of their ids or of a field with an index. A field is
/// asked for by an index if it has one. Otherwise objects are read one after another, at most 10,000 for a page, and
/// the answer says so (`compared`): such a page may be short although more follow. Scripts make indexes by
/// `osis::index`.
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

/// Deletes an object. Gives whether there was one.
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

/// Lists the collections of objects in the order of their names, each with how many objects it has, and its indexes.
#[derive(Default, Serialize)]
pub struct ListCollections {
    /// The context they belong to.
    pub context_id: ContextId,
}

impl Call for ListCollections {
    const NAME: &'static str = "list_collections";
    type Output = Vec<Collection>;
}

/// Deletes a collection with all its objects and indexes. Gives how many objects there were; `null` if there was no
/// such collection.
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
