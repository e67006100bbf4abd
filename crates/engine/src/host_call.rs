use serde::{Deserialize, Serialize};

use super::{Capability, FileCall, NetCall, ProcessCall, RedisCall, ResourceCall};
use hero_model::{Find, Json, Name, ObjectId, Progress};

/// A request of a script to its worker, which determines context, caller and rights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostCall {
    /// A call about the objects of the context.
    Objects(ObjectCall),
    /// A call about the job and others.
    Jobs(JobCall),
    /// Report the progress of the job. The answer is `null`, and arrives before the progress is published.
    Progress(Progress),
    /// A call about a resource outside of the engine.
    Resource(ResourceCall),
}

/// Calls of scripts about the objects of their context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectCall {
    /// Store an object. The answer is its id.
    Set {
        /// The collection.
        collection: Name,
        /// The object.
        object: Json,
    },
    /// Get an object. The answer is `null` if it does not exist.
    Get {
        /// The collection.
        collection: Name,
        /// Its id.
        id: ObjectId,
    },
    /// Check whether an object exists.
    Has {
        /// The collection.
        collection: Name,
        /// Its id.
        id: ObjectId,
    },
    /// Delete an object. The answer is whether it existed.
    Delete {
        /// The collection.
        collection: Name,
        /// Its id.
        id: ObjectId,
    },
    /// Find a page of objects.
    Find {
        /// The collection.
        collection: Name,
        /// The query.
        query: Find,
    },
    /// Create indexes. The answer is `null`.
    Index {
        /// The collection.
        collection: Name,
        /// The fields.
        fields: Vec<String>,
    },
    /// Drop an index. The answer is whether it existed.
    DropIndex {
        /// The collection.
        collection: Name,
        /// The field.
        field: String,
    },
}

/// Calls of scripts about their job and others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobCall {
    /// Create a child or a continuation of the job, and start it. The answer is its id.
    Spawn {
        /// The specification, as `create_job` takes it.
        spec: Json,
        /// Whether it waits until the job and all its descendants have ended.
        as_continuation: bool,
    },
    /// Get the outputs of the job's prerequisites, as a list of [`Input`](hero_model::Input).
    Inputs,
    /// Get the time at which the job was due, if it belongs to a schedule, or `null`. Scripts call it `SLOT`.
    #[serde(rename = "slot")]
    Occurrence,
}

/// The effect of a host call, as far as it decides which callers' scripts may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Reports or reads the state of the script's own job.
    Itself,
    /// Reads the outputs of the job's prerequisites.
    Inputs,
    /// Reads data that the callers of the context share.
    Read,
    /// Changes that data, or uses resources of the context outside of the engine.
    Change,
    /// Creates jobs.
    Spawn,
}

/// The answer of the worker, or an error, which the script may catch.
pub type Answer = Result<Json, String>;

impl HostCall {
    /// The maximum size of a host call, in bytes.
    pub const MAX_BYTES: usize = 3 << 20;

    /// The approximate size in bytes. A host call of an engine is smaller than [`HostCall::MAX_BYTES`], unless a script
    /// has taken the engine over.
    pub fn size(&self) -> usize {
        match self {
            Self::Objects(call) => call.size(),
            Self::Jobs(call) => call.size(),
            Self::Progress(progress) => progress.text.len(),
            Self::Resource(call) => call.size(),
        }
    }

    /// The capability that a script needs for this call.
    pub const fn needs(&self) -> Capability {
        match self {
            Self::Objects(_) => Capability::Objects,
            Self::Jobs(_) | Self::Progress(_) => Capability::Jobs,
            Self::Resource(call) => call.needs(),
        }
    }

    /// The effect of this call.
    pub const fn uses(&self) -> Use {
        match self {
            Self::Objects(ObjectCall::Get { .. } | ObjectCall::Has { .. } | ObjectCall::Find { .. }) => Use::Read,
            Self::Objects(_) | Self::Resource(_) => Use::Change,
            Self::Jobs(JobCall::Spawn { .. }) => Use::Spawn,
            Self::Jobs(JobCall::Inputs) => Use::Inputs,
            Self::Jobs(JobCall::Occurrence) | Self::Progress(_) => Use::Itself,
        }
    }

    /// Its name, for people.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Objects(ObjectCall::Set { .. }) => "osis::set",
            Self::Objects(ObjectCall::Get { .. }) => "osis::get",
            Self::Objects(ObjectCall::Has { .. }) => "osis::exists",
            Self::Objects(ObjectCall::Delete { .. }) => "osis::delete",
            Self::Objects(ObjectCall::Find { .. }) => "osis::find",
            Self::Objects(ObjectCall::Index { .. }) => "osis::index",
            Self::Objects(ObjectCall::DropIndex { .. }) => "osis::drop_index",
            Self::Jobs(JobCall::Spawn { as_continuation: false, .. }) => "job::spawn",
            Self::Jobs(JobCall::Spawn { as_continuation: true, .. }) => "job::then",
            Self::Jobs(JobCall::Inputs) => "inputs",
            Self::Jobs(JobCall::Occurrence) => "SLOT",
            Self::Progress(_) => "job::progress",
            Self::Resource(call) => call.needs().name(),
        }
    }
}

impl From<ObjectCall> for HostCall {
    fn from(call: ObjectCall) -> Self {
        Self::Objects(call)
    }
}

impl From<JobCall> for HostCall {
    fn from(call: JobCall) -> Self {
        Self::Jobs(call)
    }
}

impl From<FileCall> for HostCall {
    fn from(call: FileCall) -> Self {
        Self::Resource(ResourceCall::Files(call))
    }
}

impl From<ProcessCall> for HostCall {
    fn from(call: ProcessCall) -> Self {
        Self::Resource(ResourceCall::Processes(call))
    }
}

impl From<NetCall> for HostCall {
    fn from(call: NetCall) -> Self {
        Self::Resource(ResourceCall::Net(call))
    }
}

impl From<RedisCall> for HostCall {
    fn from(call: RedisCall) -> Self {
        Self::Resource(ResourceCall::Redis(call))
    }
}

impl ObjectCall {
    fn size(&self) -> usize {
        match self {
            Self::Set { object, .. } => object.as_str().len(),
            Self::Find { query, .. } => serde_json::to_string(query).map_or(usize::MAX, |text| text.len()),
            Self::Index { fields, .. } => fields.iter().map(String::len).sum(),
            Self::DropIndex { field, .. } => field.len(),
            Self::Get { .. } | Self::Has { .. } | Self::Delete { .. } => 0,
        }
    }
}

impl JobCall {
    fn size(&self) -> usize {
        match self {
            Self::Spawn { spec, .. } => spec.as_str().len(),
            Self::Inputs | Self::Occurrence => 0,
        }
    }
}
