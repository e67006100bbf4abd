use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use hero_model::api::{EventNotice, FlowNotice, LogNotice, SubscriptionItem};
use hero_model::{FlowEvent, JobEvent, LogLine, tree};

/// An item with a cursor, after which a subscription can continue.
pub trait Followable: Sized {
    /// The type of the server's notices.
    type Notice: DeserializeOwned + Into<SubscriptionItem<Self>>;

    /// Returns the cursor after this item, if a subscription can continue there.
    fn cursor(&self) -> Option<&str>;
}

impl Followable for LogLine {
    type Notice = LogNotice;

    fn cursor(&self) -> Option<&str> {
        Some(&self.cursor)
    }
}

/// A change of a job, from `subscribe_job`.
impl Followable for JobEvent {
    type Notice = EventNotice;

    fn cursor(&self) -> Option<&str> {
        Some(&self.cursor)
    }
}

/// A change of a flow, or its state.
impl Followable for FlowEvent {
    type Notice = FlowNotice;

    fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }
}

/// Any item of a subscription, even of a type that this version does not know.
#[derive(Debug, Clone, PartialEq)]
pub struct AnyItem {
    /// The item as it came.
    pub value: Value,
}

impl Followable for AnyItem {
    type Notice = Self;

    fn cursor(&self) -> Option<&str> {
        self.value["cursor"].as_str()
    }
}

impl<'de> Deserialize<'de> for AnyItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        tree(text.get()).map(|value| Self { value }).map_err(D::Error::custom)
    }
}

impl From<AnyItem> for SubscriptionItem<AnyItem> {
    fn from(item: AnyItem) -> Self {
        match (item.value["type"].as_str(), item.cursor()) {
            (Some("lagged"), Some(cursor)) => Self::Lagged(cursor.to_owned()),
            (Some("ended"), _) => Self::Ended,
            // A notice of the start of a subscription is an item here: it has a cursor, and is sent only if none was
            // given.
            _ => Self::Item(item),
        }
    }
}
