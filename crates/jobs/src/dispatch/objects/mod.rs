//! Objects that scripts and clients store, separate for each context: collections, indexes, and schemas that the
//! operator declared.

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
use hero_store::{HostCallId, HostCallResult, IndexEntries, ObjectStored, Store};
pub use schema::Schemas;

/// Maximum size of an object, in bytes of JSON, and maximum number of values in one. A text of a script may be slightly
/// longer.
const MAX_OBJECT_BYTES: usize = 240 << 10;
const MOST_VALUES: usize = 9000;
/// Maximum nesting of an object. Results of scripts have the same limit.
const MAX_DEPTH: usize = 64;
/// Maximum length of the path of a field, in bytes.
const LONGEST_PATH: usize = 128;
/// Maximum number of elements of an array in an indexed field.
const MOST_ELEMENTS: usize = 256;
/// Maximum number of entries of an object in all indexes: Redis does nothing else while it writes them.
const MOST_ENTRIES: usize = 1024;
/// Maximum share of the memory of Redis at which objects are still stored. Objects stay, so the rest is for jobs, which
/// are evicted slightly above this share.
const MOST_MEMORY: f64 = 0.6;
/// Maximum number of concurrent calls of a context to Redis, and the timeout of other calls that wait.
const MAX_CONCURRENT_CALLS: usize = 16;
const CALL_WAITS: Duration = Duration::from_secs(2);
/// Maximum number of tries to store an object if the indexed fields change meanwhile.
const MAX_STORE_ATTEMPTS: usize = 8;
/// Maximum number of collections whose indexed fields are cached. A context has no more.
const MAX_CACHED_COLLECTIONS: usize = 1000;
/// The field of an object that has its id.
const ID: &str = "id";

/// The objects of one context. Cheap to clone.
#[derive(Clone)]
pub struct Objects(Arc<Inner>);

struct Inner {
    store: Store,
    schemas: Arc<Schemas>,
    calls: Semaphore,
    /// Held while an index is made, so that they are made one after another.
    making: tokio::sync::Mutex<()>,
    /// The indexed fields, as a cache. A stale cache does no harm, because the functions in Redis compare the fields.
    indexed: Mutex<HashMap<Name, Arc<[String]>>>,
}

impl Objects {
    /// Returns the objects of the context of a store.
    #[doc(hidden)]
    pub fn new(store: Store, schemas: Arc<Schemas>) -> Self {
        let (calls, making) = (Semaphore::new(MAX_CONCURRENT_CALLS), tokio::sync::Mutex::default());
        Self(Arc::new(Inner { store, schemas, calls, making, indexed: Mutex::default() }))
    }

    /// Stores an object, or replaces the one with the same id, and returns its id: its field `id`, or a new one.
    ///
    /// One step writes the object and its entries in all indexes, so nobody sees one without the other.
    pub async fn set(&self, collection: &Name, object: &Json) -> Result<ObjectId, Error> {
        self.set_once(collection, object, None).await
    }

    /// Like [`Self::set`], but for a host call of a script, which may be repeated: its object is stored only once.
    pub async fn set_once(&self, collection: &Name, object: &Json, host_call: Option<&HostCallId>) -> Result<ObjectId, Error> {
        let object = self.prepared(collection, object)?;
        for _ in 0..MAX_STORE_ATTEMPTS {
            self.check_memory()?;
            let fields = self.indexed(collection).await?;
            let entries = entries(&tree(&object.object)?, &fields).map_err(|wrong| Error::invalid("object", wrong))?;
            let _call = self.call().await?;
            match done(self.store().objects().set(collection, &object, &entries, host_call).await)? {
                ObjectStored::Stored => return Ok(object.id),
                ObjectStored::Stale => self.forget(collection),
                ObjectStored::Full => return Err(too_many_collections()),
                ObjectStored::Large(most) => {
                    let what = format!("all objects of the context would have more than {most} bytes (objects_quota); delete some");
                    return Err(Error::Full { what, retry_after: RETRY_AFTER });
                }
            }
        }
        Err(Error::Busy { what: "the indexes of the collection change all the time", retry_after: RETRY_AFTER })
    }

    /// Validates an object and adds its id. Its tree takes many times its bytes, so only the text is kept.
    fn prepared(&self, collection: &Name, object: &Json) -> Result<StoredObject, Error> {
        let checked = |size: usize| if size > MAX_OBJECT_BYTES { Err(too_large(size)) } else { Ok(()) };
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
        if depth(&value) > MAX_DEPTH {
            return Err(Error::invalid("object", format!("is nested deeper than {MAX_DEPTH}")));
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

    /// Returns an object, if it exists.
    pub async fn get(&self, collection: &Name, id: &ObjectId) -> Result<Option<Json>, Error> {
        let _call = self.call().await?;
        self.store().objects().get(collection, id).await.map_err(Error::from)
    }

    /// True if the object exists.
    pub async fn exists(&self, collection: &Name, id: &ObjectId) -> Result<bool, Error> {
        let _call = self.call().await?;
        self.store().objects().has(collection, id).await.map_err(Error::from)
    }

    /// Deletes an object, and returns whether there was one.
    pub async fn delete(&self, collection: &Name, id: &ObjectId) -> Result<bool, Error> {
        self.delete_once(collection, id, None).await
    }

    /// Like [`Self::delete`], but for a host call of a script, which may be repeated and then gets the same answer.
    pub async fn delete_once(&self, collection: &Name, id: &ObjectId, host_call: Option<&HostCallId>) -> Result<bool, Error> {
        let _call = self.call().await?;
        done(self.store().objects().delete(collection, id, host_call).await)
    }

    /// Returns all collections, in the order of their names.
    pub async fn collections(&self) -> Result<Vec<Collection>, Error> {
        let _call = self.call().await?;
        let found = self.store().objects().collections().await?;
        let of = |(name, objects, indexes)| Collection { typed: self.0.schemas.has(&name), name, objects, indexes };
        Ok(found.into_iter().map(of).collect())
    }

    /// Deletes a collection with everything in it. Returns the number of its objects, or `None` if it did not exist.
    pub async fn drop_collection(&self, collection: &Name) -> Result<Option<u64>, Error> {
        let _call = self.call().await?;
        self.store().objects().drop_collection(collection).await.map_err(Error::from)
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    /// Waits for the right to make one call, so that many calls for objects do not delay jobs.
    async fn call(&self) -> Result<SemaphorePermit<'_>, Error> {
        let busy = || Error::Busy { what: "too many calls for objects at once", retry_after: RETRY_AFTER };
        timeout(CALL_WAITS, self.0.calls.acquire()).await.map_err(|_| busy())?.map_err(|_| busy())
    }

    /// Fails if the remaining memory of Redis is reserved for jobs.
    fn check_memory(&self) -> Result<(), Error> {
        if self.store().objects().memory_share() < MOST_MEMORY {
            return Ok(());
        }
        let what =
            "60% of the memory of Redis are in use, and what is left is for jobs (redis_max_memory, at a Redis of your own maxmemory)";
        Err(Error::Full { what: what.into(), retry_after: RETRY_AFTER })
    }

    /// Returns the indexed fields, from the cache if possible.
    async fn indexed(&self, collection: &Name) -> Result<Arc<[String]>, Error> {
        let known = self.0.indexed.lock().unwrap_or_else(PoisonError::into_inner).get(collection).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let indexes = self.store().objects().indexes(collection).await?;
        let fields: Arc<[String]> = indexes.into_iter().map(|index| index.field).collect();
        let mut kept = self.0.indexed.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_CACHED_COLLECTIONS {
            kept.clear();
        }
        kept.insert(collection.clone(), Arc::clone(&fields));
        Ok(fields)
    }

    fn forget(&self, collection: &Name) {
        self.0.indexed.lock().unwrap_or_else(PoisonError::into_inner).remove(collection);
    }
}

/// Returns the entries of an object in the indexes of these fields, or why it cannot have them.
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

/// Returns the number of values in a value, including itself.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// Returns the nesting depth of arrays and objects.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn too_large(size: usize) -> Error {
    Error::TooLarge { what: "object", size, limit: MAX_OBJECT_BYTES, setting: "a fixed limit" }
}

/// Checks a path of names separated by dots.
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

/// Converts the answer to a host call. Without a host call, the answer is always `Done`.
fn done<T>(asked: Result<HostCallResult<T>, hero_store::Error>) -> Result<T, Error> {
    match asked? {
        HostCallResult::Done(done) => Ok(done),
        HostCallResult::Lost => Err(Error::invalid("job", "is another attempt's by now: this one lost its lease; nothing was done")),
        HostCallResult::Over => Err(Error::invalid("job", "has asked for something else since then; nothing was done")),
    }
}

fn too_many_collections() -> Error {
    Error::Full { what: "there are 1000 collections, which is the most; drop one".into(), retry_after: RETRY_AFTER }
}
