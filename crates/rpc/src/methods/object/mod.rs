//! Objects that scripts of type `osis` store, for clients.

mod delete;
mod drop_collection;
mod find;
mod get;
mod list_collections;
mod set;

pub use delete::DeleteObject;
pub use drop_collection::DropCollection;
pub use find::FindObjects;
pub use get::GetObject;
pub use list_collections::ListCollections;
pub use set::SetObject;

use serde_json::json;

use hero_model::{Json, Name, ObjectId};

fn people() -> Name {
    "people".parse().expect("people is a name")
}

fn ada() -> ObjectId {
    "ada".parse().expect("ada is an id")
}

fn object() -> Json {
    json!({"id": "ada", "name": "Ada Lovelace", "born": 1815}).into()
}
