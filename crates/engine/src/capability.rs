use serde::{Deserialize, Serialize};

use hero_model::ScriptType;

/// A kind of calls that scripts may make to their actor. The script type implies it, or an operator grants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    /// The objects of the context. Scripts of type `osis` have it.
    Objects,
    /// Reporting progress, creating other jobs, and reading the results of others. All scripts have it.
    Jobs,
    /// Files in the directory of the context. Pools of type `sal` are granted it by default.
    Fs,
    /// Running commands, confined to the directory of the context.
    Process,
    /// Connecting to the hosts that the operator named.
    Net,
    /// The Redis that the operator named.
    Redis,
}

impl Capability {
    /// All capabilities.
    pub const ALL: [Self; 6] = [Self::Objects, Self::Jobs, Self::Fs, Self::Process, Self::Net, Self::Redis];

    /// The capabilities that an operator grants.
    pub const GRANTS: [Self; 4] = [Self::Fs, Self::Process, Self::Net, Self::Redis];

    /// Returns the capabilities that scripts of a type have without a grant.
    pub fn of(script_type: &ScriptType) -> &'static [Self] {
        if *script_type == ScriptType::osis() { &[Self::Objects, Self::Jobs] } else { &[Self::Jobs] }
    }

    /// Returns the capabilities that pools of a type have if the operator configures none.
    pub fn by_default(script_type: &ScriptType) -> &'static [Self] {
        if *script_type == ScriptType::sal() { &[Self::Fs] } else { &[] }
    }

    /// Returns the capabilities that scripts of a type may have.
    pub fn possible(script_type: &ScriptType) -> Vec<Self> {
        Self::ALL.into_iter().filter(|capability| Self::of(script_type).contains(capability) || Self::GRANTS.contains(capability)).collect()
    }

    /// Returns the name used in grants.
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

    /// Describes which scripts have it, for people.
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
