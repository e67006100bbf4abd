//! A copy of the data of a private Redis at one moment, made while it runs.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use tokio::time::Instant;

use crate::network::connection::RedisConnection;
use crate::{Endpoint, Error};

/// The interval at which the end of the copy is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The time in which Redis must begin: another copy, or the rewriting of its append-only file, must end first.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The file that Redis writes. The name cannot be changed while Redis runs.
const DUMP: &str = "dump.rdb";

/// A copy of all data of a private Redis at one moment. Its file is removed on drop.
#[derive(Debug)]
pub struct Snapshot {
    path: PathBuf,
    /// The lock that keeps others from making a copy meanwhile.
    _lock: File,
}

impl Snapshot {
    /// Returns the file (RDB).
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        // If this fails, the next snapshot removes the file.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Makes the Redis of a data directory that a hero uses write all its data at one moment into a file there.
pub async fn snapshot(data: &Path) -> Result<Snapshot, Error> {
    let unusable = |what: &str, error: io::Error| Error::Unsuitable(format!("{what} {}: {error}", data.display()));
    // The directory itself is locked, because a lock file of root would keep out the server's user.
    let lock = File::open(data).map_err(|error| unusable("cannot lock", error))?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Err(Error::Unsuitable(format!("another copy of {} is being made; try again when it is there", data.display())));
    }
    let copy = Snapshot { path: data.join(DUMP), _lock: lock };
    match std::fs::remove_file(&copy.path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable("cannot remove an old copy in", error)),
        _ => {}
    }
    let socket = data.join("redis.sock");
    let socket = std::fs::read_link(&socket).unwrap_or(socket);
    let password = std::fs::read_to_string(data.join("redis.secret")).map_err(|error| unusable("cannot read the password in", error))?;
    let endpoint = Endpoint { password: Some(password.trim().to_owned()), ..Endpoint::of_socket(&socket) };
    save(&RedisConnection::new(endpoint.client(0)?)?, &copy.path).await?;
    Ok(copy)
}

async fn save(link: &RedisConnection, path: &Path) -> Result<(), Error> {
    let until = Instant::now() + BEGIN_TIMEOUT;
    loop {
        // Redis refuses while it writes another file.
        match link.call::<redis::Value>(&redis::cmd("BGSAVE")).await {
            Ok(_) => break,
            Err(Error::Redis(error)) if error.code() == Some("ERR") && Instant::now() < until => tokio::time::sleep(POLL_INTERVAL).await,
            Err(error) => return Err(error),
        }
    }
    // An unfinished file has another name. However large it is, its writer is alive or has failed.
    loop {
        let info: String = link.call(redis::cmd("INFO").arg("persistence")).await?;
        let value =
            |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim).unwrap_or_default();
        if value("rdb_bgsave_in_progress") != "1" {
            return match (path.exists(), value("rdb_last_bgsave_status")) {
                (true, "ok") => Ok(()),
                _ => Err(Error::Unsuitable("Redis could not write the copy; its log, redis.log in the data directory, says why".into())),
            };
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
