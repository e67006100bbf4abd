use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Limits;
use crate::command::{Starter, SupervisorDirectories};
use crate::script_engine::{Absent, Launch, ProgramSettings, ScriptEngine};
use hero_model::ScriptType;
use hero_process::Spawner;
use hero_process::confine::{self, Profile};

/// Time that a script has to obey a stop before its engine is killed.
const STOP_GRACE: Duration = Duration::from_millis(100);
/// The address space that an engine needs for itself: program, libraries, the script thread's stack, arenas of the
/// allocator.
const OWN_ADDRESS_SPACE: u64 = 640 << 20;

/// The interpreter of this program. It has no settings.
pub(crate) struct Rhai;

impl ScriptEngine for Rhai {
    fn names() -> &'static [&'static str] {
        &ScriptType::BUILT_IN
    }

    async fn find(_: &ProgramSettings<'_>) -> Result<Result<Self, Absent>, String> {
        Ok(Ok(Self))
    }

    fn has_processes(&self) -> bool {
        false
    }

    fn program(&self) -> Option<&Path> {
        None
    }

    fn readable(&self) -> &[PathBuf] {
        &[]
    }

    fn memory(&self) -> u64 {
        0
    }

    // The engine itself keeps the limit of memory, which is one of its scripts.
    fn limit_memory(&mut self, _: u64) {}

    fn launch(&self, hero: &Path, limits: &Limits, _: &Spawner) -> io::Result<Launch> {
        let address_space = OWN_ADDRESS_SPACE.saturating_add(limits.memory.saturating_mul(2));
        let command = confine::command(hero, &Profile::Engine { address_space }, hero, &["engine"]);
        Ok(Launch { command, directory: None, group: None })
    }

    fn obey(&self) -> Duration {
        STOP_GRACE
    }

    fn starter(&self, _: &mut SupervisorDirectories<'_>) -> Result<Box<dyn Starter>, String> {
        Err("there is no program to run".to_owned())
    }
}
