use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hero::actor::{Instances, Mask, PoolSettings};
use hero::audit::Audit;
use hero::dispatch::Objects;
use hero::engine::{Capability, EngineSettings};
use hero::log_file::LogDirectory;
use hero::sal::Resources;
use hero::store::{Layouts, Store};

/// The program under test.
pub fn hero() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_hero"))
}

/// The objects of the context of a store, without schemas.
pub fn objects(store: &Store) -> Objects {
    Objects::new(store.clone(), Arc::default())
}

/// A script that kills its engine by a stack overflow, where functions may call each other [this deep](DEADLY_LEVELS).
pub const DEADLY: &str = "fn f() { f() } f()";
/// A depth of calls that exceeds the stack.
pub const DEADLY_LEVELS: usize = usize::MAX;

/// A pool of osis actors whose log files are below `directory`.
pub fn pool_settings(directory: &Path, actors: u32) -> PoolSettings {
    PoolSettings {
        script_type: "osis".parse().unwrap(),
        group: "default".parse().unwrap(),
        instances: Instances::Count(actors),
        resources: Resources::default(),
        engine: EngineSettings { capabilities: vec![Capability::Objects, Capability::Jobs], ..EngineSettings::new(hero()) },
        engine_idle: Duration::ZERO,
        fair: false,
        bounds: None,
        side_by_side: 1,
        layouts: Layouts::all(&"osis".parse().unwrap()),
        mask: Mask::default(),
        log_directory: LogDirectory::new(directory.join("logs")),
        grace: Duration::from_secs(5),
        audit: Audit::default(),
        authority: None,
    }
}
