use std::borrow::Cow;
use std::future::ready;

use futures_util::stream::{Stream, StreamExt, once};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::dispatch::Followed;
use crate::model::{FlowEvent, JobEvent, LogLine};
use crate::rpc::error::Error;
use crate::rpc::method::Items;

/// What `subscribe_job` and `subscribe_events` send; `type` tells which.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventNotice {
    /// A change of a job.
    Event(JobEvent),
    /// Changes were lost.
    Lagged(Lagged),
    /// Nothing will follow.
    Ended(Ended),
}

/// What `subscribe_logs` sends; `type` tells which.
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

/// What `subscribe_flow` sends; `type` tells which.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FlowNotice {
    /// Where the flow is, or a change of one of its jobs.
    Flow(FlowEvent),
    /// Nothing will follow.
    Ended(Ended),
}

/// Items were lost, because the subscriber reads too slowly or its cursor is too old.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lagged {
    /// Where to go on from.
    cursor: String,
}

/// Nothing will follow: the subscription ended by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ended {}

impl From<FlowEvent> for FlowNotice {
    fn from(event: FlowEvent) -> Self {
        Self::Flow(event)
    }
}

impl From<Followed<JobEvent>> for EventNotice {
    fn from(followed: Followed<JobEvent>) -> Self {
        match followed {
            Followed::Item(event) => Self::Event(event),
            Followed::Lagged { cursor } => Self::Lagged(Lagged { cursor }),
        }
    }
}

impl From<Followed<LogLine>> for LogNotice {
    fn from(followed: Followed<LogLine>) -> Self {
        match followed {
            Followed::Item(line) => Self::Line(line),
            Followed::Lagged { cursor } => Self::Lagged(Lagged { cursor }),
        }
    }
}

/// What a client follows: an item, a gap, or nothing, because nothing will follow.
impl From<EventNotice> for Option<Followed<JobEvent>> {
    fn from(notice: EventNotice) -> Self {
        match notice {
            EventNotice::Event(event) => Some(Followed::Item(event)),
            EventNotice::Lagged(Lagged { cursor }) => Some(Followed::Lagged { cursor }),
            EventNotice::Ended(Ended {}) => None,
        }
    }
}

impl From<LogNotice> for Option<Followed<LogLine>> {
    fn from(notice: LogNotice) -> Self {
        match notice {
            LogNotice::Line(line) => Some(Followed::Item(line)),
            LogNotice::Lagged(Lagged { cursor }) => Some(Followed::Lagged { cursor }),
            LogNotice::Ended(Ended {}) => None,
        }
    }
}

impl From<FlowNotice> for Option<Followed<FlowEvent>> {
    fn from(notice: FlowNotice) -> Self {
        match notice {
            FlowNotice::Flow(event) => Some(Followed::Item(event)),
            FlowNotice::Ended(Ended {}) => None,
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

/// What is followed, as the items of a subscription, with a last one that says that it was the last.
pub(super) fn notices<T, E, N>(followed: impl Stream<Item = Result<T, E>> + Send + 'static) -> Items<N>
where
    N: From<T> + From<Ended> + Send + 'static,
    E: Into<Error>,
{
    let items = followed.map(|item| item.map(N::from).map_err(Into::into));
    items.chain(once(ready(Ok(Ended {}.into())))).boxed()
}

/// One of the kinds of a notice, as a component: generators digest objects as components, not choices.
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

/// The schema of a notice with these kinds: what was subscribed to, `lagged` where it can go on from a cursor, and what all have.
fn choice<T: JsonSchema>(generator: &mut SchemaGenerator, word: &str, component: &str, has_cursors: bool) -> Schema {
    let mut kinds = vec![kind::<T>(generator, word, component)];
    if has_cursors {
        kinds.push(kind::<Lagged>(generator, "lagged", "LaggedNotice"));
    }
    kinds.push(kind::<Ended>(generator, "ended", "EndedNotice"));
    json_schema!({"oneOf": kinds})
}

impl JsonSchema for EventNotice {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "EventNotice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        choice::<JobEvent>(generator, "event", "EventNotice", true)
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
        choice::<LogLine>(generator, "line", "LineNotice", true)
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
        choice::<FlowEvent>(generator, "flow", "FlowNotice", false)
    }
}
