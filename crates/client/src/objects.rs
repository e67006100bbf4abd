use super::calls::{DeleteObject, DropCollection, FindObjects, GetObject, ListCollections, SetObject};
use super::connection::Client;
use super::error::Error;
use hero_model::{Collection, ContextId, Find, Json, Name, ObjectId, ObjectPage};

/// The methods for objects.
impl Client {
    /// Stores an object and returns its id.
    pub async fn set_object(&self, context_id: ContextId, collection: &Name, object: &Json) -> Result<ObjectId, Error> {
        self.call(&SetObject { collection, object, context_id }).await
    }

    /// Returns an object.
    pub async fn get_object(&self, context_id: ContextId, collection: &Name, id: &ObjectId) -> Result<Json, Error> {
        self.call(&GetObject { collection, id, context_id }).await
    }

    /// Returns a page of the objects that match a query.
    pub async fn find_objects(&self, context_id: ContextId, collection: &Name, query: &Find) -> Result<ObjectPage, Error> {
        self.call(&FindObjects { find: query, collection, context_id }).await
    }

    /// Deletes an object, and returns whether there was one.
    pub async fn delete_object(&self, context_id: ContextId, collection: &Name, id: &ObjectId) -> Result<bool, Error> {
        self.call(&DeleteObject { collection, id, context_id }).await
    }

    /// Returns all collections.
    pub async fn list_collections(&self, context_id: ContextId) -> Result<Vec<Collection>, Error> {
        self.call(&ListCollections { context_id }).await
    }

    /// Deletes a collection. Returns the number of its objects, or `None` if it did not exist.
    pub async fn drop_collection(&self, context_id: ContextId, collection: &Name) -> Result<Option<u64>, Error> {
        self.call(&DropCollection { collection, context_id }).await
    }
}
