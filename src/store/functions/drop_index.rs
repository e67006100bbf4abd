use super::Making;
use crate::model::Name;
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("drop_index");

impl Store {
    /// Drops the index of a field, and says whether there was one.
    pub async fn drop_index(&self, collection: &Name, field: &str) -> Result<bool, Error> {
        self.call_drop_index(collection, field, "").await
    }

    /// Drops an index while it is being made.
    pub async fn give_up_index(&self, collection: &Name, index: &Making) -> Result<bool, Error> {
        self.call_drop_index(collection, &index.field, &index.mark).await
    }

    async fn call_drop_index(&self, collection: &Name, field: &str, mark: &str) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(collection.as_str()).arg(field).arg(mark);
        self.0.commands.function(&call).await
    }
}
