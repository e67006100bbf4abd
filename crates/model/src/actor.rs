use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Name, Queue, ScriptType, Target, Timestamp, tree};

/// What an actor says of itself in Redis, refreshed as long as it lives.
///
/// Everything is optional when read: a foreign actor writes what it likes.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Presence {
    /// The process that runs it.
    pub pid: Option<u32>,
    /// The machine of that process.
    pub hostname: Option<String>,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// The version of its program.
    pub version: Option<String>,
    /// The capabilities of its scripts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// When it sent its last heartbeat.
    pub last_heartbeat: Option<Timestamp>,
    /// Identifies this start of the process, so that a restart under the same name is noticed.
    pub incarnation: Option<String>,
    /// How many jobs it runs now.
    pub in_flight: Option<u32>,
    /// Whether it takes no more jobs and ends when the running ones have ended, for example because its server drains.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub draining: bool,
    /// The confinement of its engine: `weak: no …` with the missing steps, then a semicolon and the steps in force.
    pub confinement: Option<String>,
    /// The machine and the process that run it, so that other processes there can check whether it still runs.
    pub process: Option<String>,
}

impl Presence {
    /// Reads a presence, field by field. Fields that cannot be understood keep their defaults.
    pub fn read(text: &str) -> Self {
        let Ok(Value::Object(said)) = tree(text) else { return Self::default() };
        if let Ok(presence) = serde_json::from_value(Value::Object(said.clone())) {
            return presence;
        }
        let understood = said.into_iter().filter_map(|(field, value)| {
            // Numbers are often written as text.
            let number = value.as_str().and_then(|text| text.trim().parse::<u32>().ok()).map(Value::from);
            [Some(value), number].into_iter().flatten().map(|value| Map::from_iter([(field.clone(), value)])).find(Self::understands)
        });
        serde_json::from_value(Value::Object(understood.flatten().collect())).unwrap_or_default()
    }

    fn understands(field: &Map<String, Value>) -> bool {
        serde_json::from_value::<Self>(Value::Object(field.clone())).is_ok()
    }
}

/// A live actor.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Actor {
    /// The script type it runs.
    pub script_type: ScriptType,
    /// Its group.
    pub group: Name,
    /// Its number within the group.
    pub instance: u32,
    /// Whether it is another program, which takes jobs by the protocol in Redis.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// Why the server has no actors of this type, although it should. Such an entry is not a live actor.
    pub unavailable: Option<String>,
    /// What it says of itself.
    #[serde(flatten)]
    pub presence: Presence,
}

impl Actor {
    /// Whether it takes jobs from a queue: no actor does whose server drains.
    pub fn takes_from(&self, queue: &Queue) -> bool {
        !self.presence.draining && self.is_for(queue)
    }

    /// Whether a queue is one of those that it takes jobs from while its server does not drain.
    pub fn is_for(&self, queue: &Queue) -> bool {
        self.script_type == queue.script_type
            && match &queue.target {
                Target::Type => true,
                Target::Group(group) => self.group == *group,
                Target::Instance(group, instance) => self.group == *group && self.instance == *instance,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::marked;

    #[test]
    fn what_can_be_understood_of_a_presence_is_kept() {
        let good = r#"{"pid":7,"hostname":"h","started_at":"2026-01-01T00:00:00Z","version":"1","capabilities":["net"],"last_heartbeat":"2026-01-01T00:00:01Z"}"#;
        let read = Presence::read(good);
        assert_eq!((read.pid, read.hostname.as_deref(), read.capabilities), (Some(7), Some("h"), vec!["net".to_owned()]));
        assert!(read.last_heartbeat > read.started_at);
        let odd = Presence::read(r#"{"pid":"8","hostname":"h","started_at":1766000000.5,"capabilities":"all","more":{"a":1}}"#);
        assert_eq!((odd.pid, odd.hostname.as_deref(), odd.started_at), (Some(8), Some("h"), None));
        for bad in ["", "alive", "[1]", "{", "null", "{\"pid\":-1}"] {
            assert_eq!(Presence::read(bad), Presence::default(), "{bad}");
        }
        // JSON within a text stays a text, so it does not nest on the stack.
        for marked in [format!(r#"{{"{}":"{{\"pid\":7}}"}}"#, marked::NAME), format!(r#"{{"pid":7,"more":{}}}"#, marked::nested(60))] {
            assert_eq!(Presence::read(&marked).pid, marked.starts_with(r#"{"pid"#).then_some(7), "{marked}");
        }
    }
}
