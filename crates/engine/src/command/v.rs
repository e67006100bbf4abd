//! Jobs in V: each script is compiled, unless it was compiled before, and then its program runs.

use std::collections::VecDeque;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::process::Command;
use tokio::time::timeout;

use super::asking::Asking;
use super::files::JobFiles;
use super::process::Process;
use super::starter::{Compiler, Starter, SupervisorDirectories};
use super::{OURSELVES, environment};
use crate::environment::expected;
use crate::script_engine::{Absent, ProgramSettings, ScriptEngine};
use crate::{EngineJob, Limits, look_up};
use hero_model::{ErrorKind, JobError, ScriptType, hex};
use hero_process::confine::{self, JobRights, JobUser, Profile};

/// The environment variable with the path of the compiler.
const VARIABLE: &str = "V_BIN";
/// Timeout for the compiler to report its version.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);
/// The name of the script's file, and so what the compiler calls it.
const FILE: &str = "main.v";
/// The name of the program beside it.
const PROGRAM: &str = "main";
/// The compiler's arguments besides file names.
const ARGUMENTS: [&str; 2] = ["-nocolor", "-o"];
/// The maximum number of programs that are kept.
const MAX_KEPT_PROGRAMS: usize = 64;
/// The mode of a program: its owner may read and execute it, nobody else.
const EXECUTABLE: u32 = 0o500;

/// A compiler of V.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct V {
    /// The path of the compiler.
    pub compiler: PathBuf,
    /// Paths that it and the processes of jobs may read and run, besides the system's programs.
    pub readable: Vec<PathBuf>,
    /// The maximum memory for the data of one process, in bytes.
    pub memory: u64,
    /// The same for the compiler, if it is more.
    pub to_compile: u64,
}

impl V {
    /// The maximum memory of the compiler, which frees none, in bytes. A context may have less.
    pub const TO_COMPILE: u64 = 4 << 30;
}

impl ScriptEngine for V {
    fn names() -> &'static [&'static str] {
        &[ScriptType::V]
    }

    async fn find(of: &ProgramSettings<'_>) -> Result<Result<Self, Absent>, String> {
        Ok(find(of).await)
    }

    fn program(&self) -> Option<&Path> {
        Some(&self.compiler)
    }

    fn readable(&self) -> &[PathBuf] {
        &self.readable
    }

    fn memory(&self) -> u64 {
        self.memory.max(self.to_compile)
    }

    fn limit_memory(&mut self, most: u64) {
        (self.memory, self.to_compile) = (self.memory.min(most), self.to_compile.min(most));
    }

    fn starter(&self, directories: &mut SupervisorDirectories<'_>) -> Result<Box<dyn Starter>, String> {
        Ok(Box::new(Builder { v: self.clone(), directory: (directories.make)("programs")?, kept: VecDeque::new() }))
    }
}

/// Finds the compiler of V: the one in `V_BIN`, or `v` in PATH.
async fn find(of: &ProgramSettings<'_>) -> Result<V, Absent> {
    let named = std::env::var(VARIABLE).ok().filter(|named| !named.is_empty());
    let compiler = match &named {
        Some(named) => look_up(named).map_err(|why| format!("{VARIABLE}: {why}"))?,
        None => look_up("v").map_err(|why| format!("{why}, or name the compiler of V with {VARIABLE}"))?,
    };
    let shown = compiler.display();
    let mut command = Command::new(&compiler);
    command.arg("version").stdin(Stdio::null()).kill_on_drop(true);
    let said = match timeout(PROBE_TIMEOUT, command.output()).await {
        Ok(said) => said.map_err(|error| format!("{shown} can't be run: {error}"))?,
        Err(_) => return Err(format!("{shown} did not say within {} s what it is", PROBE_TIMEOUT.as_secs())),
    };
    if !said.status.success() || !said.stdout.starts_with(b"V ") {
        return Err(format!("{shown} is no compiler of V: `v version` does not say so"));
    }
    // The library is in the directory of the compiler.
    let file = compiler.canonicalize().map_err(|error| format!("{shown}: {error}"))?;
    let directory = file.parent().filter(|directory| directory.parent().is_some()).map(ToOwned::to_owned);
    let readable = of.readable.iter().cloned().chain(directory).chain([file]).collect();
    Ok(V { compiler, readable, memory: of.memory, to_compile: V::TO_COMPILE })
}

/// Compiles scripts and starts the processes of jobs.
struct Builder {
    v: V,
    /// The directory of the programs. No job can write there.
    directory: PathBuf,
    /// The hashes of their scripts; the last used one comes last.
    kept: VecDeque<String>,
}

impl Compiler for Builder {
    fn has(&mut self, script: &str) -> bool {
        let hash = hash(script);
        let Some(at) = self.kept.iter().position(|kept| *kept == hash) else { return false };
        self.kept.remove(at);
        // Something that clears up old temporary files may have removed it.
        let is_there = self.directory.join(&hash).is_file();
        if is_there {
            self.kept.push_back(hash);
        }
        is_there
    }

    fn memory(&self) -> u64 {
        ScriptEngine::memory(&self.v)
    }

    // The next job with this script gets the same program, so it must not see anything of this one.
    fn compile(&self, files: &JobFiles) -> io::Result<Process> {
        let rights = JobRights { memory: self.memory(), ..self.rights(&files.directory, &files.user) };
        let arguments = ARGUMENTS.into_iter().chain([PROGRAM, FILE]).collect::<Vec<_>>();
        let mut command = confine::plain_command(Path::new(OURSELVES), &Profile::Job(rights), &self.v.compiler, &arguments);
        command.current_dir(&files.directory);
        let mut variables = expected(&files.directory);
        for (name, directory) in [("VTMP", ".vtmp"), ("VMODULES", ".vmodules")] {
            let directory = files.directory.join(directory);
            // Some versions of the compiler do not make it themselves.
            fs::create_dir(&directory)?;
            files.user.give(&directory)?;
            variables.insert(name.to_owned(), directory.to_string_lossy().into_owned());
        }
        environment::give(&mut command, variables);
        let mut process = Process::start(command)?;
        // It has no host calls.
        process.asking = Asking::default();
        Ok(process)
    }

    fn keep(&mut self, script: &str, files: &JobFiles) -> io::Result<()> {
        let made = files.directory.join(PROGRAM);
        // A script may have made the compiler leave a link there.
        if !made.symlink_metadata()?.is_file() {
            return Err(io::Error::other("the compiler made no program"));
        }
        if self.kept.len() >= MAX_KEPT_PROGRAMS
            && let Some(oldest) = self.kept.pop_front()
        {
            remove_if_there(&self.directory.join(oldest))?;
        }
        let hash = hash(script);
        let program = self.directory.join(&hash);
        fs::rename(made, &program)?;
        fs::set_permissions(&program, Permissions::from_mode(EXECUTABLE))?;
        files.user.admit(&program, JobUser::USE)?;
        self.kept.push_back(hash);
        Ok(())
    }

    fn error(&self, lines: &[String]) -> Option<JobError> {
        compile_error(lines)
    }
}

impl Starter for Builder {
    fn file(&self) -> &str {
        FILE
    }

    fn rights(&self, directory: &Path, user: &JobUser) -> JobRights {
        JobRights { readable: self.v.readable.clone(), ..JobRights::new(directory, self.v.memory, user.clone()) }
    }

    fn compiler(&mut self) -> Option<&mut dyn Compiler> {
        Some(self)
    }

    fn start(&mut self, job: &EngineJob, files: &JobFiles, _: &Limits) -> io::Result<Process> {
        let program = self.directory.join(hash(&job.script));
        let profile = Profile::Job(self.rights(&files.directory, &files.user));
        let mut command = confine::plain_command(Path::new(OURSELVES), &profile, &program, &[] as &[&str]);
        command.current_dir(&files.directory);
        environment::give(&mut command, environment::of_job(job, files));
        Process::start(command)
    }
}

fn remove_if_there(file: &Path) -> io::Result<()> {
    fs::remove_file(file).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn hash(script: &str) -> String {
    hex(&Sha256::digest(script))
}

/// The error of the script in what the compiler said, if it names a place: `main.v:3:5: error: …`.
fn compile_error(lines: &[String]) -> Option<JobError> {
    lines.iter().find_map(|line| {
        let rest = line.strip_prefix("./").unwrap_or(line).strip_prefix(FILE)?.strip_prefix(':')?;
        let mut parts = rest.splitn(3, ':');
        let (line, column) = (parts.next()?.trim().parse().ok()?, parts.next()?.trim().parse().ok());
        let message = parts.next()?.trim().strip_prefix("error:")?.trim();
        Some(JobError { line: Some(line), column, ..JobError::new(ErrorKind::Script, message) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_read_from_what_the_compiler_says() {
        let lines = ["main.v:1:1: warning: x", "main.v:3:5: error: undefined ident: `y`", "    3 | y"].map(str::to_owned);
        let error = compile_error(&lines).unwrap();
        assert_eq!((error.message.as_str(), error.line, error.column), ("undefined ident: `y`", Some(3), Some(5)));
        assert_eq!(compile_error(&["cc: error: x".to_owned(), "main.v: odd".to_owned()]), None);
    }
}
