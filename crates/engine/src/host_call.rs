use serde::{Deserialize, Serialize};

use super::{Capability, FileCall, NetCall, ProcessCall, RedisCall, ResourceCall};
use hero_model::{Find, Json, Name, ObjectId, Progress};

/// What a script asks of its worker, which fixes context, caller and rights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostCall {
    /// Something about the objects of the context.
    Objects(ObjectCall),
    /// Something about the job and others.
    Jobs(JobCall),
    /// Tell how far the job is. The answer is `null`, and comes before anybody was told.
    Progress(Progress),
    /// About a resource beyond the engine.
    Resource(ResourceCall),
}

/// What scripts ask about the objects of their context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectCall {
    /// Store an object. Its id is the answer.
    Set {
        /// The collection.
        collection: Name,
        /// The object.
        object: Json,
    },
    /// The object, or `null`.
    Get {
        /// The collection.
        collection: Name,
        /// Its id.
        id: ObjectId,
    },
    /// Whether there is such an object.
    Has {
        /// The collection.
        collection: Name,
        /// Its id.
        id: ObjectId,
    },
    /// Delete an object. Whether there was one is the answer.
    Delete {
        /// The collection.
        collection: Name,
        /// Its id.
        id: ObjectId,
    },
    /// A page of objects.
    Find {
        /// The collection.
        collection: Name,
        /// Which of its objects.
        query: Find,
    },
    /// Make indexes. The answer is `null`.
    Index {
        /// The collection.
        collection: Name,
        /// The fields.
        fields: Vec<String>,
    },
    /// Drop an index. Whether there was one is the answer.
    DropIndex {
        /// The collection.
        collection: Name,
        /// The field.
        field: String,
    },
}

/// What scripts ask about their job and others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobCall {
    /// Create a child of the job, or a continuation, and start it. Its id is the answer.
    Spawn {
        /// What it is to be, as `create_job` takes it.
        spec: Json,
        /// Whether it waits until the job and all its descendants have ended.
        as_continuation: bool,
    },
    /// What the prerequisites of the job gave, as a list of [`Input`](hero_model::Input).
    Inputs,
    /// When the job was due, if it is one of a schedule, or `null`.
    Slot,
}

/// What a script does by asking something, as far as that decides whose scripts may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It tells of its own job, or looks at it.
    Itself,
    /// It sees what the prerequisites of its job gave.
    Inputs,
    /// It reads what the callers of the context have in common.
    Read,
    /// It changes that, or uses what the context has outside.
    Change,
    /// It creates jobs.
    Spawn,
}

/// What the worker answers, or why it does not. The script may catch that.
pub type Answer = Result<Json, String>;

impl HostCall {
    /// No host call is larger.
    pub const LARGEST: usize = 3 << 20;

    /// About how many bytes it has. An engine asks for less than [`HostCall::LARGEST`], unless a script has taken it over.
    pub fn size(&self) -> usize {
        match self {
            Self::Objects(call) => call.size(),
            Self::Jobs(call) => call.size(),
            Self::Progress(progress) => progress.text.len(),
            Self::Resource(call) => call.size(),
        }
    }

    /// What a script needs to ask this.
    pub const fn needs(&self) -> Capability {
        match self {
            Self::Objects(_) => Capability::Objects,
            Self::Jobs(_) | Self::Progress(_) => Capability::Jobs,
            Self::Resource(call) => call.needs(),
        }
    }

    /// What a script does by asking this.
    pub const fn uses(&self) -> Use {
        match self {
            Self::Objects(ObjectCall::Get { .. } | ObjectCall::Has { .. } | ObjectCall::Find { .. }) => Use::Read,
            Self::Objects(_) | Self::Resource(_) => Use::Change,
            Self::Jobs(JobCall::Spawn { .. }) => Use::Spawn,
            Self::Jobs(JobCall::Inputs) => Use::Inputs,
            Self::Jobs(JobCall::Slot) | Self::Progress(_) => Use::Itself,
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
            Self::Jobs(JobCall::Slot) => "SLOT",
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
            Self::Inputs | Self::Slot => 0,
        }
    }
}
