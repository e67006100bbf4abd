//! The socket of a private Redis.

use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Error;

/// The longest path used here. The system allows 107 bytes for a unix socket.
const MAX_PATH_BYTES: usize = 100;
/// The prefix of the directories created here.
const PREFIX: &str = "hero-";

/// The socket in the data directory. If its path is too long for a socket, the socket is in a private directory under the system's
/// temporary one, and a link in the data directory leads to it.
#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
    /// The directory elsewhere and the link to it, which are removed at the end.
    elsewhere: Option<(PathBuf, PathBuf)>,
}

impl Socket {
    /// Finds a path for the socket, once the Redis of a previous server has ended, within `patience`.
    pub(super) async fn find(data: &Path, patience: Duration) -> Result<Self, Error> {
        let known = data.join("redis.sock");
        // Two servers on one append-only file would spoil it, so the socket of a previous server must be silent, wherever it is.
        match std::fs::read_link(&known) {
            Ok(there) => {
                wait_for_previous_server(&there, patience).await?;
                sweep(&there);
                // If it cannot be removed, creating the new one reports the reason.
                let _ = std::fs::remove_file(&known);
            }
            Err(_) => wait_for_previous_server(&known, patience).await?,
        }
        if known.as_os_str().len() <= MAX_PATH_BYTES {
            return Ok(Self { path: known, elsewhere: None });
        }
        Self::elsewhere(known)
            .map_err(|error| Error::Unsuitable(format!("cannot make a directory for the socket of {}: {error}", data.display())))
    }

    fn elsewhere(known: PathBuf) -> io::Result<Self> {
        let directory = std::env::temp_dir().join(format!("{PREFIX}{:016x}", rand::random::<u64>()));
        std::fs::DirBuilder::new().mode(0o700).create(&directory)?;
        let socket = Self { path: directory.join("redis.sock"), elsewhere: Some((directory, known)) };
        if let Some((_, known)) = &socket.elsewhere {
            std::os::unix::fs::symlink(&socket.path, known)?;
        }
        Ok(socket)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of the socket, if it is not the data directory.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.elsewhere.as_ref().map(|(directory, _)| directory.as_path())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some((directory, known)) = &self.elsewhere {
            // If this fails, a temporary directory and a dangling link remain, which the next start removes.
            let _ = std::fs::remove_file(known);
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

/// Removes the temporary directory of a killed server, but only if its name has the form of hero's directories.
fn sweep(socket: &Path) {
    let Some(directory) = socket.parent() else { return };
    let ours = directory.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PREFIX));
    if ours && directory.parent() == Some(&std::env::temp_dir()) {
        let _ = std::fs::remove_file(socket);
        let _ = std::fs::remove_dir(directory);
    }
}

/// The kernel ends the Redis of a killed server, which takes a moment.
async fn wait_for_previous_server(socket: &Path, patience: Duration) -> Result<(), Error> {
    let (until, mut told) = (tokio::time::Instant::now() + patience, false);
    while std::os::unix::net::UnixStream::connect(socket).is_ok() {
        if !std::mem::replace(&mut told, true) {
            tracing::info!("the Redis of another server still listens on {}; it has {} s to end", socket.display(), patience.as_secs());
        }
        if tokio::time::Instant::now() >= until {
            return Err(Error::Unsuitable(format!("another Redis answers on {}; end it first", socket.display())));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
