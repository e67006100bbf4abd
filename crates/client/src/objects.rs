use serde_json::json;

use super::connection::Client;
use super::error::Error;
use hero_model::{Collection, ContextId, Find, Json, Name, ObjectId, ObjectPage};

/// The methods for objects.
impl Client {
    /// Stores an object and returns its id.
    pub async fn set_object(&self, context_id: ContextId, collection: &Name, object: &Json) -> Result<ObjectId, Error> {
        self.call("set_object", Set { collection, object, context_id }).await
    }

    /// Returns an object.
    pub async fn get_object(&self, context_id: ContextId, collection: &Name, id: &ObjectId) -> Result<Json, Error> {
        self.call("get_object", json!({ "collection": collection, "id": id, "context_id": context_id })).await
    }

    /// Returns a page of the objects that match a query.
    pub async fn find_objects(&self, context_id: ContextId, collection: &Name, query: &Find) -> Result<ObjectPage, Error> {
        self.call("find_objects", Query { collection, query, context_id }).await
    }

    /// Deletes an object, and returns whether there was one.
    pub async fn delete_object(&self, context_id: ContextId, collection: &Name, id: &ObjectId) -> Result<bool, Error> {
        self.call("delete_object", json!({ "collection": collection, "id": id, "context_id": context_id })).await
    }

    /// Returns all collections.
    pub async fn list_collections(&self, context_id: ContextId) -> Result<Vec<Collection>, Error> {
        self.call("list_collections", json!({ "context_id": context_id })).await
    }

    /// Deletes a collection. Returns the number of its objects, or `None` if it did not exist.
    pub async fn drop_collection(&self, context_id: ContextId, collection: &Name) -> Result<Option<u64>, Error> {
        self.call("drop_collection", json!({ "collection": collection, "context_id": context_id })).await
    }
}

#[derive(serde::Serialize)]
struct Set<'a> {
    collection: &'a Name,
    object: &'a Json,
    context_id: ContextId,
}

#[derive(serde::Serialize)]
struct Query<'a> {
    collection: &'a Name,
    #[serde(flatten)]
    query: &'a Find,
    context_id: ContextId,
}
