mod check;
mod lock;
mod privacy;
mod program;
mod rewriter;
mod snapshot;
mod socket;

use std::convert::Infallible;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{Access, FlockOperation, access, flock};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncWriteExt;
use tokio::process::Child;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::health::info;
use crate::network::connection::RedisConnection;
use crate::{Endpoint, Error};
pub use check::{AOF_BASE, AOF_DIRECTORY, AOF_MANIFEST, check_aof, manifest_of_base};
use hero_model::Backoff;
use hero_process::Spawner;
use hero_process::confine::{Profile, command};
pub use lock::{holder, take};
pub use snapshot::snapshot;
use socket::Socket;

/// The moment when acknowledged writes are on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Within a second, usually.
    #[default]
    EverySecond,
    /// Before the acknowledgement.
    Always,
}

/// The settings of a private Redis.
#[derive(Debug, Clone)]
pub struct PrivateRedis {
    /// The data directory. It is created for its owner only if it is missing, and refused if it is open to others.
    pub data: PathBuf,
    /// The moment when acknowledged writes are on the disk.
    pub durability: Durability,
    /// The most memory it may use, in bytes.
    pub max_memory: u64,
    /// The path of this program, which confines the child.
    pub hero: PathBuf,
}

/// A private redis-server (or valkey-server): a child on a unix socket, restarted when it dies.
#[derive(Debug)]
pub struct Managed {
    endpoint: Endpoint,
    program: PathBuf,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
    /// The lock that is held as long as this server uses the directory.
    _lock: File,
    /// The socket, removed at the end if it is not in the data directory.
    _socket: Socket,
}

/// The time in which a new child must answer, and then again and again while it reads its data.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// A child that has not answered for this long is logged.
const LOG_SILENCE_AFTER: Duration = Duration::from_secs(5);
/// The time that a child has at its end to flush its data.
const END_TIMEOUT: Duration = Duration::from_secs(30);
/// The pauses between restarts of a Redis that ended.
const RESTART_BACKOFF: Backoff = Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(5) };
/// The size at which the log of Redis is rotated.
const LONGEST_LOG: u64 = 10 * 1024 * 1024;

/// The findings before a start of a private Redis.
#[derive(Debug)]
pub struct Foreseen {
    /// The program that would run.
    pub program: PathBuf,
    /// The process of a hero that has the data directory now, if there is one.
    pub holder: Option<String>,
}

impl PrivateRedis {
    /// Returns the findings before a start. It changes and creates nothing.
    pub async fn foresee(&self) -> Result<Foreseen, Error> {
        let failed = |what: &str, error: io::Error| unusable(what, &self.data, &error);
        let holder = match self.data.canonicalize() {
            Ok(data) => {
                privacy::refuse_open(&data)?;
                access(&data, Access::WRITE_OK | Access::EXEC_OK)
                    .map_err(|error| failed("cannot write in the data directory", error.into()))?;
                lock::holder(&data).map_err(|error| failed("cannot look who has the data directory", error))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let above = self.data.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
                access(above, Access::WRITE_OK | Access::EXEC_OK)
                    .map_err(|error| failed("cannot make the data directory", error.into()))?;
                None
            }
            Err(error) => return Err(failed("cannot use the data directory", error)),
        };
        Ok(Foreseen { program: program::find().await?, holder })
    }
}

/// The error for an unusable data directory.
fn unusable(what: &str, data: &Path, error: &io::Error) -> Error {
    let told = format!("{what} {}: {error}", data.display());
    // A disk may have room again. Permissions change only if the operator changes them.
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory | io::ErrorKind::ReadOnlyFilesystem => Error::Setting(told),
        _ => Error::Unsuitable(told),
    }
}

impl Managed {
    /// Starts it and waits until it answers. The data directory belongs to one server at a time, and is closed to all other users.
    pub async fn start(spawner: &Spawner, settings: PrivateRedis) -> Result<Self, Error> {
        let data = &settings.data;
        let failed = |what: &str, error: io::Error| unusable(what, data, &error);
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(data)
            .map_err(|error| failed("cannot make the data directory", error))?;
        let data = &data.canonicalize().map_err(|error| failed("cannot use the data directory", error))?;
        privacy::ensure(data)?;
        let lock = lock::take(data)?;
        let secret = secret(data).map_err(|error| failed("cannot write the secret in", error))?;
        let program = program::find().await?;
        let socket = Socket::find(data, END_TIMEOUT).await?;
        let endpoint = Endpoint { password: Some(secret.clone()), ..Endpoint::of_socket(socket.path()) };
        set_log_aside(&data.join("redis.log"));

        let mut writable = vec![data.clone()];
        writable.extend(socket.directory().map(Path::to_owned));
        let server = Server {
            spawner: spawner.clone(),
            hero: settings.hero.clone(),
            program: program.clone(),
            config: config(data, socket.path(), &secret, &settings),
            profile: Profile::Redis { writable },
            socket: socket.path().to_owned(),
            lock: data.join("redis.lock"),
        };
        let mut child = server.launch(END_TIMEOUT).await.map_err(|error| failed("cannot start a private Redis in", error))?;
        if let Err(error) = answers(&endpoint, &mut child, &data.join("redis.log")).await {
            let _ = child.start_kill();
            return Err(explain(error, &data.join("redis.log")));
        }
        let stop = CancellationToken::new();
        rewriter::Rewriter::start(&endpoint, stop.clone())?;
        let task = tokio::spawn(server.watch(child, stop.clone()));
        Ok(Self { endpoint, program, stop, task, _lock: lock, _socket: socket })
    }

    /// The address and password.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The running program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Ends it after it has written everything to disk. This must come last.
    pub async fn stop(self) {
        self.stop.cancel();
        if self.task.await.is_err() {
            tracing::error!("the task that watches the private Redis failed");
        }
    }
}

/// The child processes of a private Redis, one after another.
struct Server {
    spawner: Spawner,
    hero: PathBuf,
    program: PathBuf,
    config: String,
    profile: Profile,
    socket: PathBuf,
    /// The file that each child keeps locked for as long as it lives.
    lock: PathBuf,
}

impl Server {
    async fn launch(&self, patience: Duration) -> io::Result<Child> {
        // A socket that a killed server left would be in the way.
        match std::fs::remove_file(&self.socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut command = command(&self.hero, &self.profile, &self.program, &["-"]);
        command.stdin(Stdio::piped()).stdout(self.alone(patience).await?).stderr(Stdio::null());
        let mut child = self.spawner.spawn(command).await?;
        // The password goes through the pipe, because others can read arguments and environment.
        let mut stdin = child.stdin.take().ok_or_else(|| io::Error::other("the child has no standard input"))?;
        stdin.write_all(self.config.as_bytes()).await?;
        stdin.shutdown().await?;
        Ok(child)
    }

    /// Takes the lock that one child at a time holds as its standard output, to which it writes nothing: two children on one append-only
    /// file would spoil it.
    ///
    /// A previous server whose socket is silent may not listen yet, or may be ending. Its forked processes keep the lock, too, and may long
    /// outlive it, so the wait has a limit.
    async fn alone(&self, patience: Duration) -> io::Result<File> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&self.lock)?;
        let (began, mut waits) = (Instant::now(), false);
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if began.elapsed() >= patience {
                tracing::warn!("somebody still holds {}; the private Redis is started all the same", self.lock.display());
                break;
            }
            if !std::mem::replace(&mut waits, true) {
                tracing::info!("the private Redis waits for the one of a server that was killed to end");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(file)
    }

    /// Restarts it when it dies, until it is to stop.
    async fn watch(self, mut child: Child, stop: CancellationToken) {
        let mut deaths = 0;
        loop {
            let started = Instant::now();
            tokio::select! {
                status = child.wait() => {
                    let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                    deaths = if started.elapsed() > Duration::from_secs(60) { 1 } else { deaths + 1 };
                    tracing::error!(%status, "the private Redis ended and is started again");
                }
                () = stop.cancelled() => return end(child).await,
            }
            loop {
                tokio::select! {
                    () = tokio::time::sleep(RESTART_BACKOFF.wait(deaths, rand::random())) => {}
                    () = stop.cancelled() => return,
                }
                // The previous child is gone; only its forked processes may remain.
                match self.launch(Duration::ZERO).await {
                    Ok(fresh) => break child = fresh,
                    Err(error) => {
                        deaths += 1;
                        tracing::error!(%error, "the private Redis cannot be started");
                    }
                }
            }
        }
    }
}

async fn end(mut child: Child) {
    if let Some(pid) = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
        // It may have just ended by itself, which is as good.
        let _ = kill_process(pid, Signal::TERM);
    }
    if tokio::time::timeout(END_TIMEOUT, child.wait()).await.is_err() {
        tracing::error!("the private Redis did not end in time and is killed; its append-only file is complete up to the last second");
        let _ = child.kill().await;
    }
}

fn config(data: &Path, socket: &Path, secret: &str, settings: &PrivateRedis) -> String {
    let fsync = match settings.durability {
        Durability::EverySecond => "everysec",
        Durability::Always => "always",
    };
    [
        "port 0".to_owned(),
        format!("unixsocket {}", quoted(socket)),
        "unixsocketperm 700".to_owned(),
        format!("requirepass {secret}"),
        format!("dir {}", quoted(data)),
        format!("logfile {}", quoted(&data.join("redis.log"))),
        "appendonly yes".to_owned(),
        format!("appendfsync {fsync}"),
        "save \"\"".to_owned(),
        "auto-aof-rewrite-min-size 256mb".to_owned(),
        format!("maxmemory {}", settings.max_memory),
        "maxmemory-policy noeviction".to_owned(),
        "databases 1024".to_owned(),
        // A job fits into one allocation: 1,069 bytes instead of 1,853 (the name that every version knows).
        "hash-max-ziplist-value 4096".to_owned(),
        "daemonize no\n".to_owned(),
    ]
    .join("\n")
}

/// Returns the password of the private Redis: created once, and kept in a file that only its owner can read.
fn secret(data: &Path) -> io::Result<String> {
    let path = data.join("redis.secret");
    match std::fs::read_to_string(&path) {
        Ok(text) if text.trim().len() >= 32 => return Ok(text.trim().to_owned()),
        Ok(_) => std::fs::remove_file(&path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let secret = format!("{:032x}{:032x}", rand::random::<u128>(), rand::random::<u128>());
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    writeln!(file, "{secret}")?;
    file.sync_all()?;
    Ok(secret)
}

async fn answers(endpoint: &Endpoint, child: &mut Child, log: &Path) -> Result<(), Error> {
    let link = RedisConnection::new(endpoint.client(0)?)?;
    let reads = AtomicBool::new(false);
    let asking = async {
        let mut until = Instant::now() + START_TIMEOUT;
        loop {
            match info::check(&link).await {
                Ok(_) => return Ok(()),
                Err(error @ Error::Unsuitable(_)) => return Err(error),
                // However large its file is, Redis must read it.
                Err(error) if error.is_loading() => {
                    until = Instant::now() + START_TIMEOUT;
                    if !reads.swap(true, Ordering::Relaxed) {
                        tracing::info!("the private Redis reads its data");
                    }
                }
                Err(_) if Instant::now() >= until => return Err(Error::Deadline(START_TIMEOUT)),
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let pid = child.id();
    // A call without an answer returns late, so this separate task logs the silence.
    let saying = async {
        tokio::time::sleep(LOG_SILENCE_AFTER).await;
        if !reads.load(Ordering::Relaxed) {
            let (silent, most, log) = (LOG_SILENCE_AFTER.as_secs(), START_TIMEOUT.as_secs(), log.display());
            tracing::warn!(pid, "the private Redis has not answered for {silent} s and is given up after {most} s; {log} may say why");
        }
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        answered = asking => answered,
        never = saying => match never {},
        status = child.wait() => {
            let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            Err(Error::Unsuitable(format!("the private Redis ended at once ({status})")))
        }
    }
}

/// Quotes a path for Redis, with the escapes of C.
fn quoted(path: &Path) -> String {
    let escaped = path.as_os_str().as_encoded_bytes().iter().map(|byte| match byte {
        b'"' | b'\\' | 0..b' ' | 0x7f.. => format!("\\x{byte:02x}"),
        byte => char::from(*byte).to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// Adds the last log lines of Redis.
fn explain(error: Error, log: &Path) -> Error {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    match text.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(last) => Error::Unsuitable(format!("{error}; its log {} ends with: {last}", log.display())),
        None => error,
    }
}

fn set_log_aside(log: &Path) {
    if std::fs::metadata(log).is_ok_and(|log| log.len() > LONGEST_LOG) {
        // If this fails, Redis keeps writing to the old file, which does no harm.
        let _ = std::fs::rename(log, log.with_extension("log.1"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_made_once_and_for_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let data = tempfile::tempdir().unwrap();
        let first = secret(data.path()).unwrap();
        assert_eq!(secret(data.path()).unwrap(), first);
        assert_eq!(std::fs::metadata(data.path().join("redis.secret")).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
