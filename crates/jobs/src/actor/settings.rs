use std::time::Duration;

use tokio::sync::watch;

use super::Mask;
use crate::log_file::LogDirectory;
use hero_access::Authority;
use hero_audit::Audit;
use hero_engine::{Capability, EngineSettings, Limits};
use hero_model::{Name, ScriptType};
use hero_sal::Resources;
use hero_store::Layouts;

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
    pub resources: Resources,
    /// How its engines are started and replaced.
    pub engine: EngineSettings,
    /// What its scripts may use now, where that changes while the pool runs; in place of the limits of `engine`.
    pub bounds: Option<watch::Receiver<Limits>>,
    /// The timeout of jobs whose hash names none.
    pub timeout: Duration,
    /// Whether the callers of its type and group queues take turns.
    pub fair: bool,
    /// How many concurrent jobs one actor may run side by side, each in an engine of its own.
    pub side_by_side: usize,
    /// How long an engine is kept that has nothing to do, unless it is the first of the pool; zero: as long as the pool.
    pub engine_idle: Duration,
    /// The queues of other layouts it takes from, too.
    pub layouts: Layouts,
    /// What must not reach a log.
    pub mask: Mask,
    /// Where log files are.
    pub log_directory: LogDirectory,
    /// How long running scripts may go on when the pool stops.
    pub grace: Duration,
    /// Where it is recorded how attempts of jobs ended.
    pub audit: Audit,
    /// Who may do what by the scripts of their jobs, where callers log in.
    pub authority: Option<Authority>,
}

impl PoolSettings {
    /// How engines are started now.
    pub(super) fn engine_now(&self) -> EngineSettings {
        let limits = self.bounds.as_ref().map(|bounds| bounds.borrow().clone());
        EngineSettings { limits: limits.unwrap_or_else(|| self.engine.limits.clone()), ..self.engine.clone() }
    }

    /// Whether an engine that was started with these limits may run the next job.
    pub(super) fn has_limits(&self, limits: &Limits) -> bool {
        self.bounds.as_ref().is_none_or(|bounds| *bounds.borrow() == *limits)
    }

    /// The names of what an operator granted its scripts, or the script type has by default.
    pub(super) fn grants(&self) -> Vec<String> {
        let granted = self.engine.capabilities.iter().filter(|capability| Capability::GRANTS.contains(capability));
        granted.map(|capability| capability.name().to_owned()).collect()
    }
}
