//! The socket of the operator: a file in a directory that only the user who runs the server can enter. Its clients may do everything.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;

use tokio::net::UnixListener;

use super::serve_error::ServeError;

/// The permission bits of group and others that allow replacing files in a directory.
const OTHERS_WRITE: u32 = 0o022;

/// Listens on the socket. It replaces one that an earlier server has left.
pub(crate) fn listen(path: &Path) -> Result<UnixListener, ServeError> {
    let failed = |cause| ServeError::Socket { path: path.to_owned(), cause };
    if let Some(directory) = path.parent() {
        let mode = directory.metadata().map_err(failed)?.permissions().mode() & 0o777;
        if mode & OTHERS_WRITE != 0 {
            let why = format!("others may write to its directory (mode {mode:03o}), and put a socket of theirs in its place");
            return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, why)));
        }
    }
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => {
            if std::os::unix::net::UnixStream::connect(path).is_ok() {
                return Err(failed(io::Error::new(io::ErrorKind::AddrInUse, "another server answers there; give this one another --data")));
            }
            std::fs::remove_file(path).map_err(failed)?;
        }
        Ok(_) => return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, "something else is there"))),
        Err(_) => {}
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}
