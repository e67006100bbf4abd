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
use hero_process::held::{MEMORIES, MOST_PROCESSES};
use hero_process::keep::{Said, Used};
use hero_process::{Spawner, keep, tree};

/// How many commands of a job may have left something running.
pub(super) const MOST: usize = 8;
/// How long a subreaper with nothing left may take to end.
const ENDS: Duration = Duration::from_millis(20);
/// How long a subreaper may take to end everything.
const GONE: Duration = keep::GONE.saturating_add(Duration::from_secs(5));
/// How long a job waits for that.
const AWAITED: Duration = Duration::from_secs(5);
/// More than a subreaper ever says, in bytes.
const MOST_SAID: u64 = 1024;
/// How many processes an answer holds.
const MOST_LISTED: usize = 500;
/// How much of a command is shown.
const SHOWN: usize = 200;

/// The commands of a job, and what they have left running.
#[derive(Debug, Default)]
pub(super) struct Running {
    left: Mutex<Left>,
    /// Knows which have not ended yet.
    all: TaskTracker,
    heard: Arc<Mutex<Heard>>,
}

/// What subreapers have said of commands that have ended.
#[derive(Debug, Default)]
struct Heard {
    used: Used,
    /// Why what they left running was ended, until the job is told.
    why_ended: Option<String>,
}

impl Heard {
    fn ended(&mut self, why: &str) {
        self.why_ended = Some(format!("what commands of this job had left running was ended: {why}"));
    }
}

/// What commands that have ended left running.
#[derive(Debug, Default)]
struct Left {
    subreapers: Vec<Subreaper>,
    /// Whether somebody looks how much it writes.
    is_watched: bool,
}

/// A command, and everything that it starts. Dropping it ends all.
#[derive(Debug)]
pub(super) struct Subreaper {
    /// Shut when it is dropped, which tells the subreaper to end; absent after that.
    socket: Option<OwnedWriteHalf>,
    /// How the command ended.
    ended: Option<oneshot::Receiver<Said>>,
    child: Option<Child>,
    pid: Option<Pid>,
    /// What all of it is in.
    group: Option<Group>,
    spawner: Spawner,
    /// Dropped when it has ended.
    token: Option<(TaskTrackerToken, Option<Counted>)>,
}

impl Subreaper {
    /// Starts a subreaper, and gives what it and its command write to. What they hold takes room in `space`.
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
        running.all.spawn(listen(said, tell, running.heard.clone()));
        let subreaper = Self { socket: Some(socket), ended: Some(ended), child: Some(child), pid, group, spawner: spawner.clone(), token };
        let (out, err) = out.zip(err).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok((subreaper, out, err))
    }

    /// Waits until the command has ended, and gives how. Nothing if the subreaper did not say so. Once only.
    pub(super) async fn ended(&mut self) -> Option<Said> {
        let said = self.ended.take()?.await.ok();
        // The system has ended all, the subreaper too.
        said.or_else(|| self.group.as_ref().filter(|group| group.is_out_of_memory()).map(|group| Said::TooMuchMemory(group.memory())))
    }

    /// Ends the command and everything that it started, and waits for that.
    pub(super) async fn end(mut self) {
        self.socket = None;
        if let Some(child) = self.child.as_mut()
            && timeout(AWAITED, child.wait()).await.is_ok()
        {
            self.child = None;
        }
    }

    /// Whether it has ended by itself, as it does when nothing is left.
    fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Subreaper {
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
            Some(child) => self.spawner.end(child, GONE, rest),
            None => self.spawner.later(rest),
        }
    }
}

impl Left {
    /// How many commands have left something that still runs.
    fn count(&mut self) -> usize {
        self.subreapers.retain_mut(|subreaper| !subreaper.has_ended());
        self.subreapers.len()
    }
}

impl Running {
    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one more may be left running.
    pub(super) fn has_room(&self) -> bool {
        self.left().count() < MOST
    }

    /// Lets go on what a command has left running, if it has. Gives whether somebody has to begin to [watch](Self::is_still_watched) it.
    pub(super) async fn keep(&self, mut subreaper: Subreaper) -> bool {
        let ended = match subreaper.child.as_mut() {
            Some(child) => timeout(ENDS, child.wait()).await.is_ok(),
            None => true,
        };
        if ended {
            return false;
        }
        let mut left = self.left();
        left.subreapers.push(subreaper);
        !std::mem::replace(&mut left.is_watched, true)
    }

    /// Whether there is anything left to watch. If there is not, whoever watches ends.
    pub(super) fn is_still_watched(&self) -> bool {
        let mut left = self.left();
        left.is_watched = left.count() > 0;
        left.is_watched
    }

    /// Ends what was left running.
    pub(super) fn end_left(&self, why: &str) {
        self.left().subreapers.clear();
        self.heard().ended(why);
    }

    /// Why what was left running was ended, if the job does not know yet.
    pub(super) fn take_why_ended(&self) -> Option<String> {
        self.heard().why_ended.take()
    }

    /// Ends everything, waits for that, and gives what was used, and [why something was ended](Self::take_why_ended).
    pub(super) async fn end(&self) -> (Used, Option<String>) {
        self.left().subreapers.clear();
        self.all.close();
        // A command that was under way is ended by whoever gave it up. What is stuck in the system is not waited for.
        let _ = timeout(AWAITED, self.all.wait()).await;
        let mut heard = self.heard();
        (heard.used, heard.why_ended.take())
    }

    /// The subreapers, to be looked at elsewhere.
    pub(super) fn pids(&self) -> Vec<Pid> {
        self.left().subreapers.iter().filter_map(|subreaper| subreaper.pid).collect()
    }
}

/// Hears what a subreaper says, until it ends.
async fn listen(socket: OwnedReadHalf, tell: oneshot::Sender<Said>, heard: Arc<Mutex<Heard>>) {
    let (mut lines, mut tell) = (BufReader::new(socket.take(MOST_SAID)).lines(), Some(tell));
    while let Ok(Some(line)) = lines.next_line().await {
        match Said::read(&line) {
            Some(Said::Used(used)) => {
                let all = &mut heard.lock().unwrap_or_else(PoisonError::into_inner).used;
                all.cpu_us = all.cpu_us.saturating_add(used.cpu_us);
                all.peak_memory = all.peak_memory.max(used.peak_memory);
            }
            Some(said) => match (tell.take(), exceeded(said)) {
                (Some(tell), _) => drop(tell.send(said)),
                // The command itself had ended.
                (None, Some(exceeded)) => {
                    heard.lock().unwrap_or_else(PoisonError::into_inner).ended(&format!("it had more than {exceeded}"));
                }
                (None, None) => {}
            },
            None => {}
        }
    }
}

/// What the processes of a command had more than, if that is why they were ended.
pub(super) fn exceeded(said: Said) -> Option<String> {
    match said {
        Said::TooMany => Some(format!("{MOST_PROCESSES} processes")),
        Said::TooMuchMemory(most) => Some(format!("{} of memory in all its processes: {MEMORIES} times what one may have", size(most))),
        Said::Ended(_) | Said::Used(_) => None,
    }
}

/// The processes below these subreapers that have a text in their name or command.
pub(super) fn list(subreapers: &[Pid], pattern: &str) -> Value {
    tree::list(subreapers).into_iter().filter_map(|pid| told(pid, pattern)).take(MOST_LISTED).collect()
}

/// Asks these processes to end, and says how many they were.
pub(super) fn terminate(subreapers: &[Pid], pattern: &str) -> usize {
    subreapers.iter().map(|subreaper| tree::signal_some(*subreaper, Signal::TERM, |pid| told(pid, pattern).is_some())).sum()
}

/// What is told of a process, if it has that text in its name or command.
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
    Some(json!({ "pid": number, "name": name, "command": excerpt(&command, SHOWN), "memory": memory, "cpu": nanoseconds / 1e9 }))
}
