use std::time::Duration;

use super::Mask;
use crate::engine::{Capability, EngineSettings};
use crate::log_file::LogDirectory;
use crate::model::{Name, ScriptType};
use crate::sal::Outside;
use crate::store::Layouts;

/// Which instance numbers the actors of a pool have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instances {
    /// So many, with the lowest free numbers.
    Count(u32),
    /// Exactly these.
    Numbers(Vec<u32>),
}

/// What a pool is to be.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// The script type of its jobs.
    pub script_type: ScriptType,
    /// Its group.
    pub group: Name,
    /// Its actors.
    pub instances: Instances,
    /// What its scripts may use outside of their engines.
    pub outside: Outside,
    /// How its engines are started and replaced.
    pub engine: EngineSettings,
    /// The timeout of jobs whose hash names none.
    pub timeout: Duration,
    /// Whether the callers of its type and group queues take turns.
    pub fair: bool,
    /// How many concurrent jobs one actor may run side by side, each in an engine of its own.
    pub side_by_side: usize,
    /// The queues of other layouts it takes from, too.
    pub layouts: Layouts,
    /// What must not reach a log.
    pub mask: Mask,
    /// Where log files are.
    pub log_directory: LogDirectory,
    /// How long running scripts may go on when the pool stops.
    pub grace: Duration,
}

impl PoolSettings {
    /// The names of what an operator granted its scripts, or the script type has by default.
    pub(super) fn grants(&self) -> Vec<String> {
        let granted = self.engine.capabilities.iter().filter(|capability| Capability::GRANTS.contains(capability));
        granted.map(|capability| capability.name().to_owned()).collect()
    }
}
