use std::path::PathBuf;
use std::time::Duration;

use super::{Capability, Limits, Program};

/// How engine processes are started, and when they are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// The `hero` program.
    pub hero: PathBuf,
    /// The program that runs the scripts.
    pub program: Program,
    /// Whether to refuse an engine if the system does not offer all steps of confinement.
    pub confined: bool,
    /// The limits of scripts.
    pub limits: Limits,
    /// The capabilities of scripts.
    pub capabilities: Vec<Capability>,
    /// An engine is replaced after this many jobs.
    pub recycle_after_jobs: u64,
    /// An engine is replaced at this age.
    pub recycle_after: Duration,
    /// An engine is replaced when it uses more than this between two jobs. Scripts can leak memory, for example by
    /// cycles of closures.
    pub recycle_above_bytes: u64,
    /// Time that a job may exceed its timeout before its engine is killed.
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
