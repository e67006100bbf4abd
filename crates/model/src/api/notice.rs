use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{FlowEvent, JobEvent, LogLine};

/// An item of `subscribe_job` or `subscribe_events`; `type` names the variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventNotice {
    /// The start of a subscription to future events.
    Began(Began),
    /// A change of a job.
    Event(JobEvent),
    /// Changes were lost.
    Lagged(Lagged),
    /// Nothing will follow.
    Ended(Ended),
}

/// An item of `subscribe_logs`; `type` names the variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LogNotice {
    /// A line of the log.
    Line(LogLine),
    /// Lines were lost.
    Lagged(Lagged),
    /// Nothing will follow.
    Ended(Ended),
}

/// An item of `subscribe_flow`; `type` names the variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FlowNotice {
    /// The state of the flow, or a change of one of its jobs.
    Flow(FlowEvent),
    /// Nothing will follow.
    Ended(Ended),
}

/// The subscription begins at this cursor. Nothing after it is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Began {
    /// The cursor to resume from until another item arrives.
    pub cursor: String,
}

/// Items were lost, because the subscriber reads too slowly or its cursor is too old.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lagged {
    /// The cursor to resume from.
    pub cursor: String,
}

/// The subscription ended by itself. Nothing follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ended {}

impl From<FlowEvent> for FlowNotice {
    fn from(event: FlowEvent) -> Self {
        Self::Flow(event)
    }
}

impl From<JobEvent> for EventNotice {
    fn from(event: JobEvent) -> Self {
        Self::Event(event)
    }
}

impl From<LogLine> for LogNotice {
    fn from(line: LogLine) -> Self {
        Self::Line(line)
    }
}

impl From<Lagged> for EventNotice {
    fn from(lagged: Lagged) -> Self {
        Self::Lagged(lagged)
    }
}

impl From<Lagged> for LogNotice {
    fn from(lagged: Lagged) -> Self {
        Self::Lagged(lagged)
    }
}

/// An item of a subscription, as the client reports it.
#[derive(Debug, Clone, PartialEq)]
pub enum SubscriptionItem<T> {
    /// An item.
    Item(T),
    /// Nothing is missing after this cursor.
    Began(String),
    /// Items were lost; continue from this cursor.
    Lagged(String),
    /// Nothing will follow.
    Ended,
}

impl From<EventNotice> for SubscriptionItem<JobEvent> {
    fn from(notice: EventNotice) -> Self {
        match notice {
            EventNotice::Began(Began { cursor }) => Self::Began(cursor),
            EventNotice::Event(event) => Self::Item(event),
            EventNotice::Lagged(Lagged { cursor }) => Self::Lagged(cursor),
            EventNotice::Ended(Ended {}) => Self::Ended,
        }
    }
}

impl From<LogNotice> for SubscriptionItem<LogLine> {
    fn from(notice: LogNotice) -> Self {
        match notice {
            LogNotice::Line(line) => Self::Item(line),
            LogNotice::Lagged(Lagged { cursor }) => Self::Lagged(cursor),
            LogNotice::Ended(Ended {}) => Self::Ended,
        }
    }
}

impl From<FlowNotice> for SubscriptionItem<FlowEvent> {
    fn from(notice: FlowNotice) -> Self {
        match notice {
            FlowNotice::Flow(event) => Self::Item(event),
            FlowNotice::Ended(Ended {}) => Self::Ended,
        }
    }
}

impl From<Ended> for EventNotice {
    fn from(ended: Ended) -> Self {
        Self::Ended(ended)
    }
}

impl From<Ended> for LogNotice {
    fn from(ended: Ended) -> Self {
        Self::Ended(ended)
    }
}

impl From<Ended> for FlowNotice {
    fn from(ended: Ended) -> Self {
        Self::Ended(ended)
    }
}

/// The schema of one variant of a notice, as a component: generators understand components that are objects, but not
/// those that are choices.
fn kind<T: JsonSchema>(generator: &mut SchemaGenerator, word: &str, component: &str) -> Value {
    let mut schema = T::json_schema(generator);
    let mut properties = Map::from_iter([("type".to_owned(), json!({"type": "string", "const": word}))]);
    let mut required = vec![Value::from("type")];
    if let Some(Value::Object(more)) = schema.remove("properties") {
        properties.extend(more);
    }
    if let Some(Value::Array(more)) = schema.remove("required") {
        required.extend(more);
    }
    schema.insert("properties".into(), properties.into());
    schema.insert("required".into(), required.into());
    generator.definitions_mut().insert(component.to_owned(), schema.to_value());
    json!({"$ref": format!("#/components/schemas/{component}")})
}

/// The schema of a notice with these variants and `ended`, which all notices have.
fn choice(generator: &mut SchemaGenerator, mut kinds: Vec<Value>) -> Schema {
    kinds.push(kind::<Ended>(generator, "ended", "EndedNotice"));
    json_schema!({"oneOf": kinds})
}

/// The schema of the variant for lost items.
fn lagged(generator: &mut SchemaGenerator) -> Value {
    kind::<Lagged>(generator, "lagged", "LaggedNotice")
}

impl JsonSchema for EventNotice {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "EventNotice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let event = kind::<JobEvent>(generator, "event", "EventNotice");
        let kinds = vec![event, kind::<Began>(generator, "began", "BeganNotice"), lagged(generator)];
        choice(generator, kinds)
    }
}

impl JsonSchema for LogNotice {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "LogNotice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds = vec![kind::<LogLine>(generator, "line", "LineNotice"), lagged(generator)];
        choice(generator, kinds)
    }
}

impl JsonSchema for FlowNotice {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "FlowNotice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds = vec![kind::<FlowEvent>(generator, "flow", "FlowNotice")];
        choice(generator, kinds)
    }
}
