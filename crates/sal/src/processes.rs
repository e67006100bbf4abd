use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::time::{Instant, sleep, timeout};

use super::home::Home;
use super::running::{MAX_COMMANDS_LEFT_RUNNING, RunningCommand, exceeded, list, terminate};
use super::{AttemptResources, Files, blocking};
use hero_engine::environment::{PATH, expected};
use hero_engine::{Answer, ProcessCall, size};
use hero_process::Spawner;
use hero_process::cgroup::Group;
use hero_process::confine::{JobRights, OF_JOB};
use hero_process::held::{MEMORY_FACTOR, pause_after};
use hero_process::keep::{self, SubreaperReport};

/// The maximum length of a command, in bytes.
const LONGEST_COMMAND: usize = 64 << 10;
/// The maximum number of bytes kept of each of a command's two outputs.
const MAX_KEPT_BYTES: usize = 100 << 10;
/// Timeout for reading the output after a command's end. Background processes may keep the pipes open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(50);
/// Usual interval between measurements of the directory while commands write to it.
const MEASUREMENT_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum interval, if a measurement takes long.
const MAX_MEASUREMENT_INTERVAL: Duration = Duration::from_secs(3);

/// Runs commands: each below its own confined subreaper, in the directory of the context.
#[derive(Debug, Clone)]
pub struct Processes {
    hero: PathBuf,
    spawner: Spawner,
    memory: u64,
}

impl Processes {
    /// `hero` is this program. A process may have `memory` bytes for its data, and all processes of a command [a
    /// multiple](MEMORY_FACTOR) of that.
    pub fn new(hero: PathBuf, spawner: Spawner, memory: u64) -> Self {
        Self { hero, spawner, memory }
    }

    pub(super) async fn answer(&self, attempt: &Arc<AttemptResources>, files: &Files, call: ProcessCall) -> Answer {
        let subreapers = || attempt.running.pids();
        if !matches!(call, ProcessCall::Which { .. })
            && let Some(why) = attempt.running.take_why_ended()
        {
            return Err(why);
        }
        match call {
            ProcessCall::Run { command } => Ok(self.run(attempt, files, &command).await?.into()),
            ProcessCall::List { pattern } => {
                let subreapers = subreapers();
                Ok(blocking(move |_| Ok(list(&subreapers, &pattern))).await?.into())
            }
            ProcessCall::Kill { pattern } => {
                if pattern.is_empty() {
                    return Err("say which processes: a text that their name or command has in it".to_owned());
                }
                let subreapers = subreapers();
                let count = blocking(move |_| Ok(terminate(&subreapers, &pattern))).await?;
                Ok(if count > 0 { "Successfully killed processes" } else { "No matching processes found" }.into())
            }
            ProcessCall::Which { program } => Ok(blocking(move |_| Ok(look_up(&program))).await?.map_or(Value::Null, Value::from).into()),
        }
    }

    /// Makes the home of a job's commands. Other jobs cannot put files there that programs read at their start.
    async fn make_home(&self, files: &Files) -> Result<Home, String> {
        let (files, spawner) = (files.clone(), self.spawner.clone());
        blocking(move |_| files.make_home(spawner).map_err(|error| format!("the job cannot have a home directory: {error}"))).await
    }

    /// Runs a command to its end.
    async fn run(&self, attempt: &Arc<AttemptResources>, files: &Files, text: &str) -> Result<Value, String> {
        if text.len() > LONGEST_COMMAND || text.contains('\0') {
            return Err(format!("a command has at most {} and no zero byte in it", size(LONGEST_COMMAND)));
        }
        if !attempt.running.has_room() {
            return Err(format!(
                "{MAX_COMMANDS_LEFT_RUNNING} commands of this job have left something running; end some of that with kill"
            ));
        }
        let working = prepare(files, attempt.working()).await?;
        let home = attempt.home.get_or_try_init(|| self.make_home(files)).await?.path().to_owned();
        let (writable, user) = (files.directory().to_owned(), files.user().clone());
        let mut variables = expected(&home);
        let rights = JobRights { home: Some(home), ..JobRights::new(writable, self.memory, user) };
        let group = self.spawner.group(self.memory.saturating_mul(MEMORY_FACTOR));
        let mut command = keep::command(&self.hero, &rights, &working, group.as_ref().map(Group::path), text);
        variables.extend(attempt.variables.clone()?);
        command.envs(variables.into_iter().map(|(name, value)| (format!("{OF_JOB}{name}"), value)));
        let started = RunningCommand::start(&attempt.running, files.space(), &self.spawner, command, group).await;
        let (mut subreaper, out, err) = started.map_err(|error| format!("no process can be started: {error}"))?;
        let watched = tokio::select! {
            watched = watch(&mut subreaper, out, err) => watched,
            full = overflow(files) => Err(format!("the command was ended: {full}")),
        };
        files.space().forget();
        let (code, stdout, stderr) = match watched {
            Ok(ended) => ended,
            Err(why) => {
                subreaper.end().await;
                return Err(why);
            }
        };
        if attempt.running.keep(subreaper).await {
            tokio::spawn(watch_left(Arc::downgrade(attempt), files.clone()));
        }
        let truncated = stdout.truncated || stderr.truncated;
        Ok(json!({ "stdout": stdout.text, "stderr": stderr.text, "success": code == 0, "code": code, "truncated": truncated }))
    }
}

/// Returns the directory to run a command in, if there is room for its output files.
async fn prepare(files: &Files, working: PathBuf) -> Result<PathBuf, String> {
    let (files, root) = (files.clone(), files.directory().to_owned());
    let place = blocking(move |token| {
        let dir = files.open(token)?;
        files.space().take(&dir, 0, token)?;
        let at = if working.as_os_str().is_empty() { Path::new(".") } else { &working };
        dir.canonicalize(at).map_err(|error| format!("the directory that the job is in cannot be entered: {error}"))
    });
    Ok(root.join(place.await?))
}

/// Waits until the directory exceeds its quota, and returns the error.
async fn overflow(files: &Files) -> String {
    let mut pause = MEASUREMENT_INTERVAL;
    loop {
        sleep(pause).await;
        let began = Instant::now();
        if let Err(full) = look(files).await {
            return full;
        }
        pause = pause_after(began.elapsed(), MEASUREMENT_INTERVAL, MAX_MEASUREMENT_INTERVAL);
    }
}

/// Checks whether the directory exceeds its quota.
async fn look(files: &Files) -> Result<(), String> {
    let files = files.clone();
    let looked = blocking(move |token| files.space().check(&files.open(token)?, token));
    looked.await
}

/// Ends background processes when the directory exceeds its quota.
async fn watch_left(attempt: Weak<AttemptResources>, files: Files) {
    let mut pause = MEASUREMENT_INTERVAL;
    loop {
        sleep(pause).await;
        let began = Instant::now();
        if !attempt.upgrade().is_some_and(|attempt| attempt.running.is_still_watched()) {
            return;
        }
        if let (Err(full), Some(attempt)) = (look(&files).await, attempt.upgrade()) {
            attempt.running.end_left(&full);
        }
        pause = pause_after(began.elapsed(), MEASUREMENT_INTERVAL, MAX_MEASUREMENT_INTERVAL);
    }
}

/// Waits until a command has ended. Returns its exit code and its output.
async fn watch(subreaper: &mut RunningCommand, out: ChildStdout, err: ChildStderr) -> Result<(i32, Written, Written), String> {
    let (mut out, mut err) = (Writing::new(out), Writing::new(err));
    let said = {
        let mut ended = pin!(subreaper.ended());
        loop {
            tokio::select! {
                () = out.read(), if out.is_open => {}
                () = err.read(), if err.is_open => {}
                said = &mut ended => break said,
            }
        }
    };
    let drained = async {
        while out.is_open || err.is_open {
            tokio::select! {
                () = out.read(), if out.is_open => {}
                () = err.read(), if err.is_open => {}
            }
        }
    };
    // Later output comes from processes that still run.
    let _ = timeout(DRAIN_TIMEOUT, drained).await;
    let (out, err) = (out.written(), err.written());
    match said {
        Some(SubreaperReport::Ended(code)) => Ok((code, out, err)),
        said => match said.and_then(exceeded) {
            Some(exceeded) => Err(format!("the command was ended: {exceeded}")),
            None => Err(format!("the command was ended from outside: {}", err.text.lines().next_back().unwrap_or("nobody said why"))),
        },
    }
}

/// The output of a running command.
struct Writing<R> {
    pipe: R,
    bytes: Vec<u8>,
    is_open: bool,
    truncated: bool,
    piece: Vec<u8>,
}

/// The output of a command.
struct Written {
    text: String,
    truncated: bool,
}

impl<R: AsyncRead + Unpin> Writing<R> {
    fn new(pipe: R) -> Self {
        Self { pipe, bytes: Vec::new(), is_open: true, truncated: false, piece: vec![0; 16 << 10] }
    }

    /// Reads a piece. Output above the limit is read and dropped, so that the command can continue.
    async fn read(&mut self) {
        match self.pipe.read(&mut self.piece).await {
            Ok(read @ 1..) => {
                let kept = read.min(MAX_KEPT_BYTES - self.bytes.len());
                self.bytes.extend_from_slice(&self.piece[..kept]);
                self.truncated |= kept < read;
            }
            Ok(0) | Err(_) => self.is_open = false,
        }
    }

    fn written(self) -> Written {
        let mut text = String::from_utf8_lossy(&self.bytes).into_owned();
        // Invalid UTF-8 takes more room as text.
        let whole = text.len();
        let cut = (0..=MAX_KEPT_BYTES.min(whole)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(cut);
        Written { truncated: self.truncated || text.len() < whole, text }
    }
}

/// Returns the path of a program in the `PATH` of commands.
fn look_up(program: &str) -> Option<String> {
    if program.is_empty() || program.contains(['/', '\0']) {
        return None;
    }
    let mut files = PATH.split(':').map(|directory| Path::new(directory).join(program));
    let found = files.find(|file| file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0));
    Some(found?.to_string_lossy().into_owned())
}
