use crate::Error;
use crate::library::fcall::Function;
use crate::views::Objects;
use hero_model::Name;

const FUNCTION: Function = Function("drop_collection");

impl Objects<'_> {
    /// Deletes a collection with its objects and indexes. Returns the number of its objects; nothing if there was no such collection.
    pub async fn drop_collection(self, collection: &Name) -> Result<Option<u64>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(collection.as_str());
        Ok(u64::try_from(self.0.commands.function::<i64>(&call).await?).ok())
    }
}
