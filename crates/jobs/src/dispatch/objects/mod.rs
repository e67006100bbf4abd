//! Objects that scripts and clients store, each context its own: collections, indexes, and schemas that the operator declared.

mod find;
mod index;
mod schema;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::Error;
use super::error::RETRY_AFTER;
pub use find::Room;
use hero_model::{Collection, Json, Name, ObjectId, SortKey, StoredObject, exact, keys_at, names};
use hero_store::{Asked, HostCallId, IndexEntries, ObjectStored, Store};
pub use schema::Schemas;

/// The largest object, in bytes of JSON, and the most values in one. A text of a script holds a little more.
const LARGEST: usize = 240 << 10;
const MOST_VALUES: usize = 9000;
/// How deep an object may be nested. Results of scripts may be nested as deep.
const DEEPEST: usize = 64;
/// The longest path of a field, in bytes.
const LONGEST_PATH: usize = 128;
/// The most elements of an array in a field with an index.
const MOST_ELEMENTS: usize = 256;
/// The most entries of an object in all indexes: Redis does nothing else while it writes them.
const MOST_ENTRIES: usize = 1024;
/// How much of the memory of Redis may be in use so that objects are still stored. They stay, so the rest has to be for jobs, which begin to
/// give way a little above.
const MOST_MEMORY: f64 = 0.6;
/// How many calls of a context are under way at Redis at once. Others wait so long.
const CALLS: usize = 16;
const CALL_WAITS: Duration = Duration::from_secs(2);
/// How often the fields with an index may change while an object is being stored.
const ATTEMPTS: usize = 8;
/// Of how many collections it is kept which fields have an index. A context has no more.
const KEPT: usize = 1000;
/// What an object calls its own id.
const ID: &str = "id";

/// The objects of one context. Cheap to clone.
#[derive(Clone)]
pub struct Objects(Arc<Inner>);

struct Inner {
    store: Store,
    schemas: Arc<Schemas>,
    calls: Semaphore,
    /// To make indexes, one after another.
    making: tokio::sync::Mutex<()>,
    /// The fields with an index, as far as known. Nothing is stored by what is wrong here: the functions compare.
    indexed: Mutex<HashMap<Name, Arc<[String]>>>,
}

impl Objects {
    /// The objects of the context of a store.
    #[doc(hidden)]
    pub fn new(store: Store, schemas: Arc<Schemas>) -> Self {
        let (calls, making) = (Semaphore::new(CALLS), tokio::sync::Mutex::default());
        Self(Arc::new(Inner { store, schemas, calls, making, indexed: Mutex::default() }))
    }

    /// Stores an object, in place of one with the same id, and gives its id: its field `id`, or a new one.
    ///
    /// The object and its entries in all indexes are written in one step, so nobody sees one without the other.
    pub async fn set(&self, collection: &Name, object: &Json) -> Result<ObjectId, Error> {
        self.set_once(collection, object, None).await
    }

    /// The same for a host call of a script, which may be asked again: an object that was stored for it is not stored again.
    pub async fn set_once(&self, collection: &Name, object: &Json, host_call: Option<&HostCallId>) -> Result<ObjectId, Error> {
        let object = self.prepared(collection, object)?;
        for _ in 0..ATTEMPTS {
            self.check_memory()?;
            let fields = self.indexed(collection).await?;
            let entries = entries(&tree(&object.object)?, &fields).map_err(|wrong| Error::invalid("object", wrong))?;
            let _call = self.call().await?;
            match done(self.store().objects().set(collection, &object, &entries, host_call).await)? {
                ObjectStored::Stored => return Ok(object.id),
                ObjectStored::Stale => self.forget(collection),
                ObjectStored::Full => return Err(too_many_collections()),
                ObjectStored::Closed => return Err(Error::Deleting(self.store().context())),
                ObjectStored::Large(most) => {
                    let what = format!("all objects of the context would have more than {most} bytes (objects_quota); delete some");
                    return Err(Error::Full { what, retry_after: RETRY_AFTER });
                }
            }
        }
        Err(Error::Busy { what: "the indexes of the collection change all the time", retry_after: RETRY_AFTER })
    }

    /// An object as it is stored: with its id, and known to fit. Its tree takes many times its bytes, so none is kept.
    fn prepared(&self, collection: &Name, object: &Json) -> Result<StoredObject, Error> {
        let checked = |size: usize| if size > LARGEST { Err(too_large(size)) } else { Ok(()) };
        checked(object.as_str().len())?;
        exact(object.as_str(), "object").map_err(|beyond| Error::invalid("object", beyond.to_string()))?;
        let mut value = tree(object)?;
        let Value::Object(fields) = &mut value else { return Err(Error::invalid("object", "is not an object with fields")) };
        let id = match fields.get(ID) {
            None | Some(Value::Null) => {
                let id = ObjectId::random();
                fields.shift_remove(ID);
                fields.shift_insert(0, ID.to_owned(), id.as_str().into());
                id
            }
            Some(Value::String(id)) => id.parse().map_err(|error| Error::invalid("object", format!("has no proper id: {error}")))?,
            Some(_) => return Err(Error::invalid("object", "has an id that is no text; leave it out for a new one")),
        };
        if depth(&value) > DEEPEST {
            return Err(Error::invalid("object", format!("is nested deeper than {DEEPEST}")));
        }
        let values = count(&value);
        if values > MOST_VALUES {
            return Err(Error::invalid("object", format!("has {values} values in it, more than {MOST_VALUES}")));
        }
        self.0.schemas.check(collection, &value).map_err(|misfit| Error::invalid("object", misfit))?;
        let object = Json::from(value);
        checked(object.as_str().len())?;
        Ok(StoredObject { id, object })
    }

    /// An object, if there is one.
    pub async fn get(&self, collection: &Name, id: &ObjectId) -> Result<Option<Json>, Error> {
        let _call = self.call().await?;
        self.store().objects().get(collection, id).await.map_err(failed)
    }

    /// Whether there is such an object.
    pub async fn exists(&self, collection: &Name, id: &ObjectId) -> Result<bool, Error> {
        let _call = self.call().await?;
        self.store().objects().has(collection, id).await.map_err(failed)
    }

    /// Deletes an object, and says whether there was one.
    pub async fn delete(&self, collection: &Name, id: &ObjectId) -> Result<bool, Error> {
        self.delete_once(collection, id, None).await
    }

    /// The same for a host call of a script, which may be asked again and then has the same answer.
    pub async fn delete_once(&self, collection: &Name, id: &ObjectId, host_call: Option<&HostCallId>) -> Result<bool, Error> {
        let _call = self.call().await?;
        done(self.store().objects().delete(collection, id, host_call).await)
    }

    /// All collections, in the order of their names.
    pub async fn collections(&self) -> Result<Vec<Collection>, Error> {
        let _call = self.call().await?;
        let found = self.store().objects().collections().await.map_err(failed)?;
        let of = |(name, objects, indexes)| Collection { typed: self.0.schemas.has(&name), name, objects, indexes };
        Ok(found.into_iter().map(of).collect())
    }

    /// Deletes a collection with everything in it, and gives how many objects it had; nothing if there was none.
    pub async fn drop_collection(&self, collection: &Name) -> Result<Option<u64>, Error> {
        let _call = self.call().await?;
        self.store().objects().drop_collection(collection).await.map_err(failed)
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    /// The right to one call: what many ask at once comes one after another, and jobs do not wait behind it.
    async fn call(&self) -> Result<SemaphorePermit<'_>, Error> {
        let busy = || Error::Busy { what: "too many calls for objects at once", retry_after: RETRY_AFTER };
        timeout(CALL_WAITS, self.0.calls.acquire()).await.map_err(|_| busy())?.map_err(|_| busy())
    }

    /// Fails while what is left of Redis' memory is for jobs.
    fn check_memory(&self) -> Result<(), Error> {
        if self.store().objects().memory_share() < MOST_MEMORY {
            return Ok(());
        }
        let what =
            "60% of the memory of Redis are in use, and what is left is for jobs (redis_max_memory, at a Redis of your own maxmemory)";
        Err(Error::Full { what: what.into(), retry_after: RETRY_AFTER })
    }

    /// The fields with an index, as far as known here.
    async fn indexed(&self, collection: &Name) -> Result<Arc<[String]>, Error> {
        let known = self.0.indexed.lock().unwrap_or_else(PoisonError::into_inner).get(collection).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let indexes = self.store().objects().indexes(collection).await.map_err(failed)?;
        let fields: Arc<[String]> = indexes.into_iter().map(|index| index.field).collect();
        let mut kept = self.0.indexed.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(collection.clone(), Arc::clone(&fields));
        Ok(fields)
    }

    fn forget(&self, collection: &Name) {
        self.0.indexed.lock().unwrap_or_else(PoisonError::into_inner).remove(collection);
    }
}

/// What stands in the indexes of these fields for an object, or why it cannot.
fn entries(object: &Value, fields: &[String]) -> Result<IndexEntries, String> {
    let of = |field: &String| {
        let keys = keys_at(object, field);
        if keys.len() > MOST_ELEMENTS {
            return Err(format!("{field} has an index and {} different elements, more than {MOST_ELEMENTS}", keys.len()));
        }
        let mut keys: Vec<SortKey> = keys.iter().map(SortKey::cut).collect();
        keys.dedup();
        Ok((field.clone(), keys))
    };
    let entries: IndexEntries = fields.iter().map(of).collect::<Result<_, _>>()?;
    let many: usize = entries.values().map(Vec::len).sum();
    if many > MOST_ENTRIES {
        return Err(format!("it would have {many} entries in indexes, more than {MOST_ENTRIES}"));
    }
    Ok(entries)
}

fn tree(object: &Json) -> Result<Value, Error> {
    object.to_value().map_err(|error| Error::invalid("object", error.to_string()))
}

/// How many values a value has in it, with itself.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// How many arrays and objects lie in each other.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn too_large(size: usize) -> Error {
    Error::TooLarge { what: "object", size, limit: LARGEST, setting: "a fixed limit" }
}

/// What is wrong with a path of names with dots between, if anything is.
fn check_path(path: &str) -> Result<(), String> {
    if path.len() > LONGEST_PATH {
        return Err(format!("the name of a field has more than {LONGEST_PATH} bytes"));
    }
    if names(path).any(|name| name.is_empty()) || path.chars().any(char::is_control) {
        return Err(format!(
            "{path:?} is not a field; a field is a name, or names with dots between, such as address.city; a dot in a name has a backslash before it"
        ));
    }
    Ok(())
}

fn failed(error: hero_store::Error) -> Error {
    Error::store(error, None)
}

/// What came of what was asked. Where nobody says which host call it is, it is done.
fn done<T>(asked: Result<Asked<T>, hero_store::Error>) -> Result<T, Error> {
    match asked.map_err(failed)? {
        Asked::Done(done) => Ok(done),
        Asked::Lost => Err(Error::invalid("job", "is another attempt's by now: this one lost its lease; nothing was done")),
        Asked::Over => Err(Error::invalid("job", "has asked for something else since then; nothing was done")),
    }
}

fn too_many_collections() -> Error {
    Error::Full { what: "there are 1000 collections, which is the most; drop one".into(), retry_after: RETRY_AFTER }
}
