use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::server::ready_line;
use crate::server::settings::SETTINGS;

const START_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval at which the end of the server is checked where nothing else can run.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A private directory that is removed when dropped.
#[derive(Debug)]
pub(super) struct TempDir(PathBuf);

impl TempDir {
    /// Creates an empty directory that only this user can access.
    pub(super) fn new() -> anyhow::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;

        let path = std::env::temp_dir().join(format!("hero-{:08x}", rand::random::<u32>()));
        std::fs::DirBuilder::new().mode(0o700).create(&path).with_context(|| format!("no directory {} can be made", path.display()))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // The system cleans up the rest of its temporary files.
    }
}

/// A `hero serve` that this program started on a free port. It is stopped when dropped, at the latest.
#[derive(Debug)]
pub(super) struct LocalServer {
    child: Child,
    /// The URL of the server.
    pub(super) url: String,
    /// Its ready line.
    pub(super) ready: String,
}

impl LocalServer {
    /// Starts a server with its data in `data` and waits until it is ready. Its log goes to `data/serve.log`.
    pub(super) async fn start(data: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        let log_path = data.join("serve.log");
        let log = std::fs::File::options().create(true).append(true).open(&log_path)?;
        let program = std::env::current_exe().context("this program does not find itself")?;
        let mut command = Command::new(program);
        command.arg("serve").arg("--data").arg(data).args(["--listen", "127.0.0.1:0"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        // Ctrl-C must only reach this program, which then stops the server: a second signal would end the server
        // without cleanup.
        command.process_group(0);
        for setting in SETTINGS {
            command.env_remove(setting.env()); // The user's settings are meant for the user's server.
        }
        let child = command.spawn().context("the server does not start")?;
        let mut server = Self { child, url: String::new(), ready: String::new() };
        let out = server.child.stdout.take().context("the server has no stdout")?;
        let line = tokio::time::timeout(START_TIMEOUT, ready_line(out)).await;
        server.ready = match line {
            Ok(Ok(Some(line))) => line,
            Ok(Ok(None)) => bail!("the server ended at once; it says:\n{}", tail(&log_path)),
            Ok(Err(error)) => return Err(error).context("the server cannot be listened to"),
            Err(_) => bail!("the server was not ready within {} s; it says:\n{}", START_TIMEOUT.as_secs(), tail(&log_path)),
        };
        server.url = ready_line::parse(&server.ready).unwrap_or_default().to_owned();
        Ok(server)
    }

    /// Returns its process id, while it runs.
    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    fn terminate(&self) -> anyhow::Result<()> {
        let pid = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).context("the server had ended already")?;
        Ok(kill_process(pid, Signal::TERM)?)
    }

    /// Asks the server to stop and waits until it has ended. Fails if its exit status is not success.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        self.terminate()?;
        match tokio::time::timeout(STOP_TIMEOUT, self.child.wait()).await {
            Ok(status) => {
                let status = status?;
                anyhow::ensure!(status.success(), "the server ended with {status}");
                Ok(())
            }
            Err(_) => {
                self.child.kill().await?;
                bail!("the server did not stop within {} s and was killed", STOP_TIMEOUT.as_secs())
            }
        }
    }
}

impl Drop for LocalServer {
    /// Stops the server after an error or a signal. Its Redis and its engines end with it.
    fn drop(&mut self) {
        if self.child.id().is_none() || self.terminate().is_err() {
            return;
        }
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begun.elapsed() > STOP_TIMEOUT {
                let _ = self.child.start_kill(); // Fails only if it has already ended.
                return;
            }
            sleep(POLL_INTERVAL);
        }
    }
}

/// Reads up to the ready line; `None` if it never comes.
async fn ready_line(out: tokio::process::ChildStdout) -> std::io::Result<Option<String>> {
    let mut lines = BufReader::new(out).lines();
    while let Some(line) = lines.next_line().await? {
        if ready_line::parse(&line).is_some() {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// Returns the last lines of a log.
fn tail(path: &Path) -> String {
    let text = std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
