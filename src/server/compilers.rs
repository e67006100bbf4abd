use std::collections::BTreeMap;
use std::sync::Arc;

use super::context_pool::ContextPool;
use crate::actor::ScriptChecker;
use crate::dispatch::Compiler;
use crate::model::ScriptType;
use crate::process::Spawner;

/// Returns a compiler for scripts of the types that have a pool here. It does not check other types, and leaves the
/// scripts of processes to their programs.
pub(crate) fn compiler(spawner: &Spawner, pools: &[Arc<ContextPool>]) -> Compiler {
    let mut checkers: BTreeMap<ScriptType, Arc<ScriptChecker>> = BTreeMap::new();
    for settings in pools.iter().map(|entry| &entry.pool.settings).filter(|settings| !settings.engine.program.has_processes()) {
        let checker = || Arc::new(ScriptChecker::new(spawner.clone(), settings.engine.clone()));
        checkers.entry(settings.script_type.clone()).or_insert_with(checker);
    }
    Arc::new(move |script_type, script, names| {
        let (checker, script) = (checkers.get(script_type).cloned(), script.to_owned());
        Box::pin(async move { checker?.check(&script, names).await })
    })
}
