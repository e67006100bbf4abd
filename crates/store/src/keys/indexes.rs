//! Keys of the indexes of lists. Functions build them, too.

use super::Keys;
use hero_model::Timestamp;

impl Keys {
    /// The jobs created in one hour, in order.
    pub fn index(&self, time: Timestamp) -> String {
        self.index_of_hour(&time.hour())
    }

    /// The jobs created in the hour `yyyymmddhh`.
    pub(crate) fn index_of_hour(&self, hour: &str) -> String {
        self.key(format_args!("index:{hour}"))
    }

    /// The jobs of a status, by the time when they entered the index of an hour.
    pub fn index_of_status(&self, status: &str) -> String {
        self.key(format_args!("index:{status}"))
    }

    /// The differences between the times that foreign programs gave their jobs and the times when these entered the index of an hour; the
    /// key has an older word for it.
    pub fn time_offsets(&self) -> String {
        self.key(format_args!("meta:strays"))
    }

    /// The existing indexes, by their keys.
    pub fn hours(&self) -> String {
        self.key(format_args!("meta:hours"))
    }

    /// Returns the hour that an index key names.
    pub(crate) fn parse_index<'k>(&self, key: &'k str) -> Option<&'k str> {
        let hour = key.strip_prefix(&*self.prefix)?.strip_prefix("hero:index:")?;
        (hour.len() == 10 && hour.bytes().all(|byte| byte.is_ascii_digit())).then_some(hour)
    }
}
