use std::time::Duration;

use tokio::sync::watch;

use super::Mask;
use crate::log_file::LogDirectory;
use hero_access::Authority;
use hero_audit::Audit;
use hero_engine::{Capability, EngineSettings, Limits, Program};
use hero_model::{Name, ScriptType};
use hero_sal::Resources;
use hero_store::Layouts;

/// The instance numbers of the actors of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instances {
    /// This number of actors, with the lowest free numbers.
    Count(u32),
    /// Exactly these numbers.
    Numbers(Vec<u32>),
}

/// The settings of a pool.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// The script type of its jobs.
    pub script_type: ScriptType,
    /// Its group.
    pub group: Name,
    /// Its actors.
    pub instances: Instances,
    /// The resources that its scripts may use outside of their engines.
    pub resources: Resources,
    /// How its engines are started and replaced.
    pub engine: EngineSettings,
    /// The current limits of its scripts, if they can change while the pool runs. They replace the limits of `engine`.
    pub bounds: Option<watch::Receiver<Limits>>,
    /// Whether the callers of its type and group queues take turns.
    pub fair: bool,
    /// Maximum number of concurrent jobs that one actor runs side by side, each in its own engine.
    pub side_by_side: usize,
    /// Time after which an idle engine ends, except the first of the pool. Zero keeps it as long as the pool.
    pub engine_idle: Duration,
    /// The queues of other layouts that it serves, too.
    pub layouts: Layouts,
    /// Masks texts before they reach a log.
    pub mask: Mask,
    /// The directory of log files.
    pub log_directory: LogDirectory,
    /// Time that running scripts get when the pool stops.
    pub grace: Duration,
    /// The audit log for the ends of attempts.
    pub audit: Audit,
    /// Checks the rights of callers for the host calls of their jobs, where callers log in.
    pub authority: Option<Authority>,
}

impl PoolSettings {
    /// Returns the current engine settings.
    pub(super) fn engine_now(&self) -> EngineSettings {
        let limits = self.bounds.as_ref().map(|bounds| bounds.borrow().clone());
        EngineSettings { limits: limits.unwrap_or_else(|| self.engine.limits.clone()), ..self.engine.clone() }
    }

    /// True if jobs may run before they are stored: their scripts reach the outside only through host calls, which the
    /// worker holds back, and no attempt is recorded that may be in vain.
    pub(super) fn may_speculate(&self) -> bool {
        self.engine.program == Program::Rhai && !self.audit.is_open()
    }

    /// True if an engine that was started with these limits may run the next job.
    pub(super) fn has_limits(&self, limits: &Limits) -> bool {
        self.bounds.as_ref().is_none_or(|bounds| *bounds.borrow() == *limits)
    }

    /// Returns the names of the grants of its scripts, from the operator or by default of the script type.
    pub(super) fn grants(&self) -> Vec<String> {
        let granted = self.engine.capabilities.iter().filter(|capability| Capability::GRANTS.contains(capability));
        granted.map(|capability| capability.name().to_owned()).collect()
    }
}
