use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::Pid;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::cgroup::{Group, Groups};
use super::tree;

struct Request {
    command: Command,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// The one thread that starts every child process.
///
/// A parent-death signal follows the *thread* that spawned, so children of a worker thread would die with it. This
/// thread lives until the last clone is dropped, so the owner of a child keeps a `Spawner`. After `kill -9` the thread
/// ends with the process, and the children are killed, too.
#[derive(Debug, Clone)]
pub struct Spawner {
    requests: mpsc::Sender<Request>,
    runtime: Handle,
    /// Remaining work for children that nobody waits for.
    ends: TaskTracker,
    /// The groups of supervisors, if there are any.
    groups: Option<Groups>,
}

impl Spawner {
    /// Starts the thread.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime, whose process driver it uses.
    pub fn start() -> io::Result<Self> {
        let runtime = Handle::current();
        let (requests, inbox) = mpsc::channel::<Request>();
        let handle = runtime.clone();
        thread::Builder::new().name("spawn".into()).stack_size(256 << 10).spawn(move || {
            let _entered = handle.enter();
            for Request { mut command, reply } in inbox {
                let child = command.spawn();
                // The descriptors for the child are owned by the command; the child's end must not stay open here.
                drop(command);
                let _ = reply.send(child);
            }
        })?;
        Ok(Self { requests, runtime, ends: TaskTracker::new(), groups: None })
    }

    /// Adds groups for supervisors.
    pub fn with_groups(self, groups: Option<Groups>) -> Self {
        Self { groups, ..self }
    }

    /// Makes a group for a supervisor whose processes may have `memory` bytes together, if there are groups.
    pub fn group(&self, memory: u64) -> Option<Group> {
        match self.groups.as_ref()?.create(memory) {
            Ok(group) => Some(group),
            Err(error) => {
                tracing::warn!(%error, "no control group can be made, so memory and processes of a supervisor are counted only");
                None
            }
        }
    }

    /// Starts `command`. If the caller drops the future, the child is dropped once it has started, so use
    /// `kill_on_drop`.
    pub async fn spawn(&self, command: Command) -> io::Result<Child> {
        let (reply, answer) = oneshot::channel();
        let gone = || io::Error::other("the spawning thread has ended");
        self.requests.send(Request { command, reply }).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Waits for a child that ends by itself. After the timeout, kills it with everything below it. Then runs `rest`.
    pub fn end(&self, mut child: Child, within: Duration, rest: impl FnOnce() + Send + 'static) {
        let ended = async move {
            if timeout(within, child.wait()).await.is_err() {
                if let Some(pid) = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
                    let _ = spawn_blocking(move || tree::end_with(pid, within)).await;
                }
                let _ = child.wait().await;
            }
            let _ = spawn_blocking(rest).await;
        };
        self.ends.spawn_on(ended, &self.runtime);
    }

    /// Runs blocking work in the background.
    pub fn later(&self, rest: impl FnOnce() + Send + 'static) {
        self.ends.spawn_blocking_on(rest, &self.runtime);
    }

    /// Runs work for a child to its end, even if the caller stops waiting for it.
    pub fn surely(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.ends.spawn_on(work, &self.runtime);
    }

    /// Waits until all work for children that nobody waits for is done, at most `within`. Used at the end of the
    /// program.
    pub async fn settled(&self, within: Duration) {
        self.ends.close();
        if timeout(within, self.ends.wait()).await.is_err() {
            tracing::warn!("children did not end in time; what they leave, a later start removes");
        }
    }

    /// Kills `child` and takes its exit status, so that no zombie stays.
    pub fn kill(&self, mut child: Child) {
        let _ = child.start_kill();
        self.runtime.spawn(async move { child.wait().await });
    }
}
