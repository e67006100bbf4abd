use super::Making;
use crate::library::fcall::Function;
use crate::views::Objects;
use crate::{Error, HostCallId, HostCallResult};
use hero_model::Name;

const FUNCTION: Function = Function("drop_index");

impl Objects<'_> {
    /// Drops the index of a field, and returns whether it existed. A repeated host call gets the same answer as before.
    pub async fn drop_index(self, collection: &Name, field: &str, host_call: Option<&HostCallId>) -> Result<HostCallResult<bool>, Error> {
        self.call_drop_index(collection, field, "", host_call).await
    }

    /// Drops an index under construction.
    pub async fn give_up_index(self, collection: &Name, index: &Making) -> Result<bool, Error> {
        Ok(self.call_drop_index(collection, &index.field, &index.mark, None).await? == HostCallResult::Done(true))
    }

    async fn call_drop_index(
        self,
        collection: &Name,
        field: &str,
        mark: &str,
        host_call: Option<&HostCallId>,
    ) -> Result<HostCallResult<bool>, Error> {
        let mut call = self.0.call(&FUNCTION);
        HostCallId::add(host_call, &mut call);
        call.arg(collection.as_str()).arg(field).arg(mark);
        HostCallResult::read("drop_index", &self.0.commands.function::<String>(&call).await?)
    }
}
