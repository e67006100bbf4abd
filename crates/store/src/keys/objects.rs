//! Keys of objects that scripts store. Functions build those of indexes.

use super::Keys;
use hero_model::Name;

impl Keys {
    /// The names of all collections.
    pub fn collections(&self) -> String {
        self.key(format_args!("meta:collections"))
    }

    /// The hash of a collection.
    pub fn collection(&self, name: &Name) -> String {
        self.key(format_args!("osis:{name}"))
    }

    /// The objects of a collection, by their ids.
    pub fn objects(&self, collection: &Name) -> String {
        self.key(format_args!("osis:{collection}:objects"))
    }
}
