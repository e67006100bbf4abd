use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::process::Command;
use tokio::time::timeout;

use super::Python;
use crate::look_up;
use crate::script_engine::{Absent, ProgramSettings};

/// Timeout for an interpreter to describe itself.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
/// The oldest supported version.
const OLDEST_VERSION: (u32, u32) = (3, 9);
/// The script that an interpreter runs to describe itself.
const QUESTION: &str = "import json, sys, sysconfig; print(json.dumps({
'version': sys.version_info[:2], 'executable': sys.executable, 'prefix': sys.prefix,
'directories': [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sysconfig.get_paths().values()]}))";

/// The description that an interpreter gives of itself.
#[derive(Deserialize)]
struct InterpreterInfo {
    version: (u32, u32),
    executable: PathBuf,
    prefix: PathBuf,
    directories: Vec<PathBuf>,
}

/// Finds the interpreter for a script type: the one of a virtual environment, the configured one, or `python3`. Only
/// the last may be absent.
pub(super) async fn find(of: &ProgramSettings<'_>) -> Result<Result<Python, Absent>, String> {
    let script_type = of.script_type;
    let said = match (of.pool_venv, of.venv, of.interpreter) {
        (Some(venv), _, _) => in_environment(venv).await.map_err(|why| format!("pool {script_type}: venv: {why}"))?,
        (None, Some(venv), _) => in_environment(venv).await.map_err(|why| format!("script_types.{script_type}.venv: {why}"))?,
        (None, None, Some(interpreter)) => {
            let asked = async { ask(&look_up(interpreter)?).await };
            asked.await.map_err(|why| format!("script_types.{script_type}.interpreter: {why}"))?
        }
        (None, None, None) => match async { ask(&look_up("python3")?).await }.await {
            Ok(said) => said,
            Err(why) => return Ok(Err(why)),
        },
    };
    // Some builds have their library outside of their prefix. Skip the root of the file system, which would make
    // everything readable.
    let own = said.directories.into_iter().chain([said.prefix]).chain(said.executable.canonicalize().ok());
    let readable: BTreeSet<PathBuf> =
        own.filter(|path| path.is_absolute() && path.components().count() > 1).chain(of.readable.iter().cloned()).collect();
    Ok(Ok(Python { interpreter: said.executable, readable: readable.into_iter().collect(), memory: of.memory }))
}

/// Finds the interpreter of a virtual environment.
async fn in_environment(venv: &Path) -> Result<InterpreterInfo, String> {
    let shown = venv.display();
    if !venv.is_dir() {
        return Err(format!("there is no directory {shown}; `python3 -m venv {shown}` makes a virtual environment"));
    }
    if !venv.join("pyvenv.cfg").is_file() {
        return Err(format!("{shown} is no virtual environment: it has no pyvenv.cfg; `python3 -m venv {shown}` makes one"));
    }
    let interpreter = venv.join("bin/python");
    if let Ok(target) = interpreter.read_link()
        && !interpreter.exists()
    {
        let target = target.display();
        return Err(format!(
            "{shown} is broken: its bin/python leads to {target}, which is gone; make it anew: python3 -m venv --clear {shown}"
        ));
    }
    let broken = |why| format!("{shown} is broken: {why}; make it anew: python3 -m venv --clear {shown}");
    let said = async { ask(&look_up(&interpreter.to_string_lossy())?).await }.await.map_err(broken)?;
    match (said.prefix.canonicalize(), venv.canonicalize()) {
        (Ok(prefix), Ok(venv)) if prefix == venv => Ok(said),
        _ => Err(broken(format!("its bin/python is that of {}", said.prefix.display()))),
    }
}

/// Asks an interpreter to describe itself.
async fn ask(interpreter: &Path) -> Result<InterpreterInfo, String> {
    let shown = interpreter.display();
    let mut command = Command::new(interpreter);
    command.args(["-I", "-B", "-c", QUESTION]).stdin(Stdio::null()).kill_on_drop(true);
    let said = match timeout(PROBE_TIMEOUT, command.output()).await {
        Ok(said) => said.map_err(|error| format!("{shown} can't be run: {error}"))?,
        Err(_) => return Err(format!("{shown} did not say within {} s which Python it is", PROBE_TIMEOUT.as_secs())),
    };
    let stderr = String::from_utf8_lossy(&said.stderr);
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it does not say why").trim();
    if !said.status.success() {
        return Err(format!("{shown} does not work: {last}"));
    }
    let said: InterpreterInfo = serde_json::from_slice(&said.stdout).map_err(|_| format!("{shown} is no Python of version 3"))?;
    if said.version < OLDEST_VERSION {
        let ((major, minor), (least_major, least_minor)) = (said.version, OLDEST_VERSION);
        return Err(format!("{shown} is Python {major}.{minor}; at least {least_major}.{least_minor} is needed"));
    }
    Ok(said)
}
