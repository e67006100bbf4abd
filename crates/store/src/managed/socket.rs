//! Where the socket of a private Redis is.

use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Error;

/// A unix socket's path has at most 107 bytes.
const LONGEST: usize = 100;
/// Begins the names of directories made here.
const PREFIX: &str = "hero-";

/// The socket in the data directory. Where that path is too long for one, the socket is in a private directory under the
/// system's temporary one, and a link in the data directory says where.
#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
    /// Removed at the end, with the link to it.
    elsewhere: Option<(PathBuf, PathBuf)>,
}

impl Socket {
    /// Finds a path for it, after the Redis of a previous server has left, within `patience`.
    pub(super) async fn find(data: &Path, patience: Duration) -> Result<Self, Error> {
        let known = data.join("redis.sock");
        // Two servers on one append-only file would spoil it, so wherever the socket of a previous server is: it must be silent.
        match std::fs::read_link(&known) {
            Ok(there) => {
                wait_for_previous_server(&there, patience).await?;
                sweep(&there);
                // If it cannot be removed, making the new one says why.
                let _ = std::fs::remove_file(&known);
            }
            Err(_) => wait_for_previous_server(&known, patience).await?,
        }
        if known.as_os_str().len() <= LONGEST {
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

    /// The directory it is in, where that is not the data directory.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.elsewhere.as_ref().map(|(directory, _)| directory.as_path())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some((directory, known)) = &self.elsewhere {
            // Left behind they are a directory in the temporary one and a link to nothing, which the next start removes.
            let _ = std::fs::remove_file(known);
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

/// Removes what a server that was killed left in the temporary directory; only what has the form of our directories.
fn sweep(socket: &Path) {
    let Some(directory) = socket.parent() else { return };
    let ours = directory.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PREFIX));
    if ours && directory.parent() == Some(&std::env::temp_dir()) {
        let _ = std::fs::remove_file(socket);
        let _ = std::fs::remove_dir(directory);
    }
}

/// The Redis of a server that was killed is told to end by the kernel, and needs a moment for it.
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
