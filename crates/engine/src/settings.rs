use std::path::PathBuf;
use std::time::Duration;

use super::{Capability, Limits, Program};

/// How engine processes are started, and when they are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// The `hero` program.
    pub hero: PathBuf,
    /// What runs the scripts.
    pub program: Program,
    /// Whether an engine is refused where the system does not offer all steps of confinement.
    pub confined: bool,
    /// What a script may use.
    pub limits: Limits,
    /// What a script may ask for.
    pub capabilities: Vec<Capability>,
    /// An engine is replaced after this many jobs.
    pub recycle_after_jobs: u64,
    /// An engine is replaced at this age.
    pub recycle_after: Duration,
    /// An engine is replaced when it uses more than this between two jobs. Scripts can leak memory, such as by cycles of closures.
    pub recycle_above_bytes: u64,
    /// How long a job may outlive its timeout before its engine is killed.
    pub grace: Duration,
}

impl EngineSettings {
    /// The defaults, with `hero` as the program to run.
    pub fn new(hero: PathBuf) -> Self {
        Self {
            hero,
            program: Program::Rhai,
            confined: false,
            limits: Limits::default(),
            capabilities: Vec::new(),
            recycle_after_jobs: 10_000,
            recycle_after: Duration::from_secs(3600),
            recycle_above_bytes: 192 << 20,
            grace: Duration::from_secs(1),
        }
    }
}
