use super::unexpected;
use crate::library::fcall::Function;
use crate::objects::{IndexEntries, add_entries};
use crate::views::Objects;
use crate::{Error, HostCallId, HostCallResult};
use hero_model::{Name, StoredObject};

const FUNCTION: Function = Function("set_object");

/// The result of storing an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectStored {
    /// It is stored.
    Stored,
    /// The indexed fields are not the ones that have entries here. Nothing was done.
    Stale,
    /// The limit of collections is reached. Nothing was done.
    Full,
    /// All objects together would exceed this limit of bytes. Nothing was done.
    Large(u64),
}

impl Objects<'_> {
    /// Stores an object in place of the one with its id, with its entries in the indexes of the collection: one for each indexed field. A
    /// repeated host call gets the same answer as before.
    pub async fn set(
        self,
        collection: &Name,
        object: &StoredObject,
        entries: &IndexEntries,
        host_call: Option<&HostCallId>,
    ) -> Result<HostCallResult<ObjectStored>, Error> {
        let fields: Vec<&str> = entries.keys().map(String::as_str).collect();
        let mut call = self.0.call(&FUNCTION);
        let most = self.0.bounds.objects();
        HostCallId::add(host_call, &mut call);
        call.arg(most).arg(collection.as_str()).arg(object.id.as_str()).arg(object.object.as_str()).arg(fields.len()).arg(&fields);
        add_entries(&mut call, entries);
        self.0.memory.add(1, &call);
        let stored = match self.0.commands.function::<String>(&call).await?.as_str() {
            "stored" => ObjectStored::Stored,
            "stale" => ObjectStored::Stale,
            "full" => ObjectStored::Full,
            "large" => ObjectStored::Large(most),
            "lost" => return Ok(HostCallResult::Lost),
            "over" => return Ok(HostCallResult::Over),
            reply => return Err(unexpected("set_object", &reply)),
        };
        Ok(HostCallResult::Done(stored))
    }
}
