//! Keys of the indexes that lists are made from. Functions build them, too.

use super::Keys;
use hero_model::Timestamp;

impl Keys {
    /// The jobs created in one hour, in order.
    pub fn index(&self, time: Timestamp) -> String {
        self.index_of_hour(&time.hour())
    }

    /// The jobs created in the hour `yyyymmddhh`.
    pub fn index_of_hour(&self, hour: &str) -> String {
        self.key(format_args!("index:{hour}"))
    }

    /// The jobs of a status, by the time since when they are in the index of an hour.
    pub fn index_of_status(&self, status: &str) -> String {
        self.key(format_args!("index:{status}"))
    }

    /// How far the times that foreign programs gave their jobs are from those at which they came into the index of an hour; the key has an older word for it.
    pub fn time_offsets(&self) -> String {
        self.key(format_args!("meta:strays"))
    }

    /// The indexes that exist, by their keys.
    pub fn hours(&self) -> String {
        self.key(format_args!("meta:hours"))
    }

    /// The hour that an index key names.
    pub fn parse_index<'k>(&self, key: &'k str) -> Option<&'k str> {
        let hour = key.strip_prefix(&*self.prefix)?.strip_prefix("hero:index:")?;
        (hour.len() == 10 && hour.bytes().all(|byte| byte.is_ascii_digit())).then_some(hour)
    }
}
