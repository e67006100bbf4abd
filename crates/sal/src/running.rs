use std::os::unix::net::UnixStream as StdStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, os::fd::OwnedFd};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::space::{Counted, Space};
use hero_engine::size;
use hero_model::excerpt;
use hero_process::cgroup::Group;
use hero_process::held::{HIDES, MEMORY_FACTOR, MOST_DESCRIPTORS, MOST_PROCESSES};
use hero_process::keep::{SubreaperReport, Used};
use hero_process::{Spawner, keep, tree};

/// The maximum number of commands of a job that may leave processes running.
pub(super) const MAX_COMMANDS_LEFT_RUNNING: usize = 8;
/// Timeout for the end of a subreaper without processes.
const END_TIMEOUT: Duration = Duration::from_millis(20);
/// Timeout for a subreaper to end everything.
const KILL_TIMEOUT: Duration = keep::KILL_TIMEOUT.saturating_add(Duration::from_secs(5));
/// The maximum time that a job waits for that.
const MAX_AWAITED_TIME: Duration = Duration::from_secs(5);
/// An upper bound for the length of a subreaper's reports, in bytes.
const MOST_SAID: u64 = 1024;
/// The maximum number of processes in an answer.
const MOST_LISTED: usize = 500;
/// The maximum length of a command in an answer.
const MAX_SHOWN_CHARS: usize = 200;

/// The commands of a job, and the processes that they left running.
#[derive(Debug, Default)]
pub(super) struct Running {
    left: Mutex<Left>,
    /// Tracks commands that have not ended yet.
    all: TaskTracker,
    reports: Arc<Mutex<SubreaperReports>>,
}

/// Reports of subreapers after their commands have ended.
#[derive(Debug, Default)]
struct SubreaperReports {
    used: Used,
    /// Why background processes were ended, until the job is told.
    why_ended: Option<String>,
}

impl SubreaperReports {
    fn ended(&mut self, why: &str) {
        self.why_ended = Some(format!("what commands of this job had left running was ended: {why}"));
    }
}

/// Background processes of commands that have ended.
#[derive(Debug, Default)]
struct Left {
    subreapers: Vec<RunningCommand>,
    /// True if a task already measures what they write.
    is_watched: bool,
}

/// A command, and everything that it starts. Dropping it ends all of them.
#[derive(Debug)]
pub(super) struct RunningCommand {
    /// Shut when this is dropped, which tells the subreaper to end; `None` after that.
    socket: Option<OwnedWriteHalf>,
    /// Receives how the command ended.
    ended: Option<oneshot::Receiver<SubreaperReport>>,
    child: Option<Child>,
    pid: Option<Pid>,
    /// The control group of all of them.
    group: Option<Group>,
    spawner: Spawner,
    /// Dropped when the subreaper has ended.
    token: Option<(TaskTrackerToken, Option<Counted>)>,
}

impl RunningCommand {
    /// Starts a subreaper, and returns the pipes of its and its command's output. Removed files that they hold open
    /// count in `space`.
    pub(super) async fn start(
        running: &Running,
        space: &Arc<Space>,
        spawner: &Spawner,
        mut command: Command,
        group: Option<Group>,
    ) -> io::Result<(Self, ChildStdout, ChildStderr)> {
        let token = running.all.token();
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        let socket = UnixStream::from_std(ours)?;
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = spawner.spawn(command).await?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let token = Some((token, pid.map(|pid| space.count(pid))));
        let ((said, socket), (tell, ended)) = (socket.into_split(), oneshot::channel());
        running.all.spawn(listen(said, tell, running.reports.clone()));
        let subreaper = Self { socket: Some(socket), ended: Some(ended), child: Some(child), pid, group, spawner: spawner.clone(), token };
        let (out, err) = out.zip(err).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok((subreaper, out, err))
    }

    /// Waits until the command has ended, and returns how. `None` if the subreaper did not report it. Call it only
    /// once.
    pub(super) async fn ended(&mut self) -> Option<SubreaperReport> {
        let said = self.ended.take()?.await.ok();
        // The system killed the whole group, including the subreaper.
        said.or_else(|| {
            self.group.as_ref().filter(|group| group.is_out_of_memory()).map(|group| SubreaperReport::TooMuchMemory(group.memory()))
        })
    }

    /// Ends the command and everything that it started, and waits for that.
    pub(super) async fn end(mut self) {
        self.socket = None;
        if let Some(child) = self.child.as_mut()
            && timeout(MAX_AWAITED_TIME, child.wait()).await.is_ok()
        {
            self.child = None;
        }
    }

    /// Whether the subreaper has ended by itself, as it does when no process is left.
    fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.socket = None;
        let (token, group) = (self.token.take(), self.group.take());
        let rest = move || {
            if let Some(group) = group {
                group.remove();
            }
            drop(token);
        };
        match self.child.take() {
            Some(child) => self.spawner.end(child, KILL_TIMEOUT, rest),
            None => self.spawner.later(rest),
        }
    }
}

impl Left {
    /// The number of commands whose processes still run.
    fn count(&mut self) -> usize {
        self.subreapers.retain_mut(|subreaper| !subreaper.has_ended());
        self.subreapers.len()
    }
}

impl Running {
    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reports(&self) -> MutexGuard<'_, SubreaperReports> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one more command may leave processes running.
    pub(super) fn has_room(&self) -> bool {
        self.left().count() < MAX_COMMANDS_LEFT_RUNNING
    }

    /// Keeps the background processes of a command, if there are any. Returns true if the caller has to start to
    /// [watch](Self::is_still_watched) them.
    pub(super) async fn keep(&self, mut subreaper: RunningCommand) -> bool {
        let ended = match subreaper.child.as_mut() {
            Some(child) => timeout(END_TIMEOUT, child.wait()).await.is_ok(),
            None => true,
        };
        if ended {
            return false;
        }
        let mut left = self.left();
        left.subreapers.push(subreaper);
        !std::mem::replace(&mut left.is_watched, true)
    }

    /// Whether there are background processes to watch. If not, the watching task ends.
    pub(super) fn is_still_watched(&self) -> bool {
        let mut left = self.left();
        left.is_watched = left.count() > 0;
        left.is_watched
    }

    /// Ends all background processes.
    pub(super) fn end_left(&self, why: &str) {
        self.left().subreapers.clear();
        self.reports().ended(why);
    }

    /// Returns why background processes were ended, if the job does not know yet.
    pub(super) fn take_why_ended(&self) -> Option<String> {
        self.reports().why_ended.take()
    }

    /// Ends everything, waits for that, and returns the usage, and [why processes were ended](Self::take_why_ended).
    pub(super) async fn end(&self) -> (Used, Option<String>) {
        self.left().subreapers.clear();
        self.all.close();
        // If a caller gave up a running command, it also ends it. Processes stuck in the system are not awaited.
        let _ = timeout(MAX_AWAITED_TIME, self.all.wait()).await;
        let mut reports = self.reports();
        (reports.used, reports.why_ended.take())
    }

    /// The process ids of the subreapers.
    pub(super) fn pids(&self) -> Vec<Pid> {
        self.left().subreapers.iter().filter_map(|subreaper| subreaper.pid).collect()
    }
}

/// Reads the reports of a subreaper until it ends.
async fn listen(socket: OwnedReadHalf, tell: oneshot::Sender<SubreaperReport>, reports: Arc<Mutex<SubreaperReports>>) {
    let (mut lines, mut tell) = (BufReader::new(socket.take(MOST_SAID)).lines(), Some(tell));
    while let Ok(Some(line)) = lines.next_line().await {
        match SubreaperReport::read(&line) {
            Some(SubreaperReport::Used(used)) => {
                let all = &mut reports.lock().unwrap_or_else(PoisonError::into_inner).used;
                all.cpu_us = all.cpu_us.saturating_add(used.cpu_us);
                all.peak_memory = all.peak_memory.max(used.peak_memory);
            }
            Some(said) => match (tell.take(), exceeded(said)) {
                (Some(tell), _) => drop(tell.send(said)),
                // The command itself had already ended.
                (None, Some(exceeded)) => {
                    reports.lock().unwrap_or_else(PoisonError::into_inner).ended(&exceeded);
                }
                (None, None) => {}
            },
            None => {}
        }
    }
}

/// Returns why the processes of a command were ended, if they were.
pub(super) fn exceeded(said: SubreaperReport) -> Option<String> {
    match said {
        SubreaperReport::TooMany => Some(format!("it had more than {MOST_PROCESSES} processes")),
        SubreaperReport::TooManyDescriptors => {
            Some(format!("it had more than {MOST_DESCRIPTORS} open files, pipes and sockets in all its processes"))
        }
        SubreaperReport::TooMuchMemory(most) => {
            Some(format!("it had more than {} of memory in all its processes: {MEMORY_FACTOR} times what one may have", size(most)))
        }
        SubreaperReport::Hidden => Some(format!("it {HIDES}")),
        SubreaperReport::Ended(_) | SubreaperReport::Used(_) => None,
    }
}

/// Lists the processes below these subreapers whose name or command contains a text.
pub(super) fn list(subreapers: &[Pid], pattern: &str) -> Value {
    tree::list(subreapers).into_iter().filter_map(|pid| told(pid, pattern)).take(MOST_LISTED).collect()
}

/// Sends SIGTERM to these processes, and returns their number.
pub(super) fn terminate(subreapers: &[Pid], pattern: &str) -> usize {
    subreapers.iter().map(|subreaper| tree::signal_some(*subreaper, Signal::TERM, |pid| told(pid, pattern).is_some())).sum()
}

/// Describes a process, if its name or command contains the text.
fn told(pid: Pid, pattern: &str) -> Option<Value> {
    let number = pid.as_raw_nonzero().get();
    let read = |file: &str| std::fs::read(Path::new("/proc").join(number.to_string()).join(file)).ok();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end_matches(['\0', '\n']).replace('\0', " ");
    let (name, command) = (text(read("comm")?), text(read("cmdline")?));
    if !name.contains(pattern) && !command.contains(pattern) {
        return None;
    }
    let pages: u64 = text(read("statm")?).split(' ').nth(1)?.parse().ok()?;
    let nanoseconds = read("schedstat").map(text).and_then(|times| times.split(' ').next()?.parse::<f64>().ok()).unwrap_or_default();
    let memory = pages.saturating_mul(rustix::param::page_size() as u64);
    Some(json!({ "pid": number, "name": name, "command": excerpt(&command, MAX_SHOWN_CHARS), "memory": memory, "cpu": nanoseconds / 1e9 }))
}
