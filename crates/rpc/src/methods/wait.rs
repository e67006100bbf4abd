use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use hero_model::Seconds;

/// The longest wait of a call for a job.
pub const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// How long a call waits for a job: 120 seconds by default, 0 checks once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Wait(Seconds);

impl Wait {
    /// The wait as a duration.
    pub fn duration(self) -> Duration {
        self.0.duration()
    }
}

impl Default for Wait {
    fn default() -> Self {
        Self(Seconds::from(Duration::from_secs(120)))
    }
}

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = Seconds::deserialize(deserializer)?;
        if seconds.duration() > LONGEST_WAIT {
            let longest = LONGEST_WAIT.as_secs();
            return Err(D::Error::custom(format!("{seconds} s is longer than a call may wait ({longest} s); call wait_job again instead")));
        }
        Ok(Self(seconds))
    }
}

impl JsonSchema for Wait {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Wait".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": LONGEST_WAIT.as_secs() })
    }
}
