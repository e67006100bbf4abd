use serde::{Deserialize, Serialize};

use super::{FileCall, NetCall, ProcessCall, RedisCall};
use crate::model::{Find, Json, Name, ObjectId, Progress, ScriptType};

/// What a script asks of its actor, which fixes context, caller and rights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Store an object. Its id is the answer.
    SetObject {
        /// The collection.
        collection: Name,
        /// The object.
        object: Json,
    },
    /// The object, or `null`.
    GetObject {
        /// The collection.
        collection: Name,
        /// Its id.
        id: ObjectId,
    },
    /// Whether there is such an object.
    HasObject {
        /// The collection.
        collection: Name,
        /// Its id.
        id: ObjectId,
    },
    /// Delete an object. Whether there was one is the answer.
    DeleteObject {
        /// The collection.
        collection: Name,
        /// Its id.
        id: ObjectId,
    },
    /// A page of objects.
    FindObjects {
        /// The collection.
        collection: Name,
        /// Which of its objects.
        query: Find,
    },
    /// Make indexes. The answer is `null`.
    IndexObjects {
        /// The collection.
        collection: Name,
        /// The fields.
        fields: Vec<String>,
    },
    /// Create a child of the job, or an heir, and start it. Its id is the answer.
    Spawn {
        /// What it is to be, as `create_job` takes it.
        spec: Json,
        /// Whether it waits until the job and all its descendants have ended.
        as_heir: bool,
    },
    /// What the prerequisites of the job gave, as a list of [`Input`](crate::model::Input).
    Inputs,
    /// When the job was due, if it is one of a schedule, or `null`.
    Slot,
    /// Tell how far the job is. The answer is `null`, and comes before anybody was told.
    Progress(Progress),
    /// Drop an index. Whether there was one is the answer.
    DropIndex {
        /// The collection.
        collection: Name,
        /// The field.
        field: String,
    },
    /// Something about the files of the context.
    Files(FileCall),
    /// Something about processes.
    Processes(ProcessCall),
    /// Something of the network.
    Net(NetCall),
    /// A command for the Redis that the operator named.
    Redis(RedisCall),
}

/// What the actor answers, or why it does not. The script may catch that.
pub type Answer = Result<Json, String>;

/// What scripts may ask their actor for, besides what they have by themselves. An operator grants it, or the script type implies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    /// The objects of the context. Scripts of type `osis` have it.
    Objects,
    /// To tell how far the job is, to create others, and to see what others gave it. All scripts have it.
    Jobs,
    /// Files in the directory of the context. Pools of type `sal` are granted it by default.
    Fs,
    /// To run commands, confined to the directory of the context.
    Process,
    /// To connect to the hosts that the operator named.
    Net,
    /// The Redis that the operator named.
    Redis,
}

impl Capability {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Objects, Self::Jobs, Self::Fs, Self::Process, Self::Net, Self::Redis];

    /// Those that an operator grants.
    pub const GRANTS: [Self; 4] = [Self::Fs, Self::Process, Self::Net, Self::Redis];

    /// Those that scripts of a type have without being granted them.
    pub fn of(script_type: &ScriptType) -> &'static [Self] {
        if *script_type == ScriptType::osis() { &[Self::Objects, Self::Jobs] } else { &[Self::Jobs] }
    }

    /// Those that pools of a type have if the operator says nothing of them.
    pub fn by_default(script_type: &ScriptType) -> &'static [Self] {
        if *script_type == ScriptType::sal() { &[Self::Fs] } else { &[] }
    }

    /// Those that scripts of a type may have.
    pub fn possible(script_type: &ScriptType) -> Vec<Self> {
        Self::ALL.into_iter().filter(|capability| Self::of(script_type).contains(capability) || Self::GRANTS.contains(capability)).collect()
    }

    /// The name by which it is granted.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Objects => "objects",
            Self::Jobs => "jobs",
            Self::Fs => "fs",
            Self::Process => "process",
            Self::Net => "net",
            Self::Redis => "redis",
        }
    }

    /// Who has it, for people.
    pub const fn who(self) -> &'static str {
        match self {
            Self::Objects => "scripts of type osis",
            Self::Jobs => "scripts that run as jobs",
            Self::Fs => "pools and contexts with the grant fs",
            Self::Process => "pools and contexts with the grant process",
            Self::Net => "pools and contexts with the grant net",
            Self::Redis => "pools and contexts with the grant redis",
        }
    }
}

impl Question {
    /// About how many bytes it has. An engine asks for less than [`Question::LARGEST`], unless a script has taken it over.
    pub fn size(&self) -> usize {
        match self {
            Self::SetObject { object: json, .. } | Self::Spawn { spec: json, .. } => json.as_str().len(),
            Self::FindObjects { query, .. } => serde_json::to_string(query).map_or(usize::MAX, |text| text.len()),
            Self::IndexObjects { fields, .. } => fields.iter().map(String::len).sum(),
            Self::DropIndex { field, .. } => field.len(),
            Self::Progress(progress) => progress.text.len(),
            Self::GetObject { .. } | Self::HasObject { .. } | Self::DeleteObject { .. } | Self::Inputs | Self::Slot => 0,
            Self::Files(call) => call.size(),
            Self::Processes(call) => call.size(),
            Self::Net(call) => call.size(),
            Self::Redis(call) => call.size(),
        }
    }

    /// No question is larger.
    pub const LARGEST: usize = 3 << 20;

    /// What a script needs to ask this.
    pub fn needs(&self) -> Capability {
        match self {
            Self::SetObject { .. }
            | Self::GetObject { .. }
            | Self::HasObject { .. }
            | Self::DeleteObject { .. }
            | Self::FindObjects { .. }
            | Self::IndexObjects { .. }
            | Self::DropIndex { .. } => Capability::Objects,
            Self::Spawn { .. } | Self::Inputs | Self::Slot | Self::Progress(_) => Capability::Jobs,
            Self::Files(_) => Capability::Fs,
            Self::Processes(_) => Capability::Process,
            Self::Net(_) => Capability::Net,
            Self::Redis(_) => Capability::Redis,
        }
    }
}
