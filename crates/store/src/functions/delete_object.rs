use crate::library::fcall::Function;
use crate::views::Objects;
use crate::{Error, HostCallId, HostCallResult};
use hero_model::{Name, ObjectId};

const FUNCTION: Function = Function("delete_object");

impl Objects<'_> {
    /// Deletes an object, and its collection if it is empty and has no index. Returns whether the object existed. A repeated host call gets
    /// the same answer as before.
    pub async fn delete(self, collection: &Name, id: &ObjectId, host_call: Option<&HostCallId>) -> Result<HostCallResult<bool>, Error> {
        let mut call = self.0.call(&FUNCTION);
        HostCallId::add(host_call, &mut call);
        call.arg(collection.as_str()).arg(id.as_str());
        HostCallResult::read("delete_object", &self.0.commands.function::<String>(&call).await?)
    }
}
