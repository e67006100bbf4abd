//! Keeps the contents of the data directory private to its owner.

use std::fs::{Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::process::geteuid;

use crate::Error;
use hero_process::confine::JobUser;

/// The permission bits of group and others.
const OTHERS: u32 = 0o077;

/// Refuses a directory that others may read, except one that users of contexts may pass through, and one of our own that
/// is empty: [`ensure`] closes that.
pub(super) fn refuse_open(data: &Path) -> Result<(), Error> {
    let found = data.metadata().map_err(|error| failed(data, &error))?;
    let mode = found.permissions().mode();
    if mode & OTHERS != 0 && !JobUser::is_way(&found) && !is_own_and_empty(data, &found) {
        return Err(Error::Setting(format!(
            "others may look into the data directory {} (mode {:03o}), where every job and the password of its Redis are; close it with: \
             chmod 700 {}",
            data.display(),
            mode & 0o777,
            quoted(data)
        )));
    }
    Ok(())
}

fn failed(data: &Path, error: &io::Error) -> Error {
    Error::Unsuitable(format!("cannot look at who may read {}: {error}", data.display()))
}

/// Refuses the same as [`refuse_open`], and closes the files in the directory that others could open if they got there.
///
/// An open password is deleted, so that a new one is created, because another user may have read it.
pub(super) fn ensure(data: &Path) -> Result<(), Error> {
    refuse_open(data)?;
    let failed = |error: io::Error| failed(data, &error);
    let found = data.metadata().map_err(failed)?;
    if found.permissions().mode() & OTHERS != 0 && is_own_and_empty(data, &found) {
        std::fs::set_permissions(data, Permissions::from_mode(0o700)).map_err(failed)?;
        if !is_own_and_empty(data, &found) {
            return Err(Error::Setting(format!("somebody else put something into {} while it was closed; empty it", data.display())));
        }
    }
    let mut closed = 0;
    for directory in [data.to_owned(), data.join("appendonlydir")] {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            // The metadata of the entry itself: links are not followed.
            let Some(open) = entry.metadata().ok().filter(is_open) else { continue };
            if entry.file_name() == "redis.secret" {
                std::fs::remove_file(entry.path()).map_err(failed)?;
                tracing::warn!("others could read the password of the private Redis; it gets a new one");
            } else {
                let mode = open.permissions().mode() & 0o777 & !OTHERS;
                std::fs::set_permissions(entry.path(), Permissions::from_mode(mode)).map_err(failed)?;
                closed += 1;
            }
        }
    }
    if closed > 0 {
        tracing::info!(files = closed, "files of the data directory were open to others and are not any more");
    }
    Ok(())
}

/// Whether nothing in a directory can have been read by others yet, and it is ours to close.
fn is_own_and_empty(data: &Path, found: &Metadata) -> bool {
    found.uid() == geteuid().as_raw() && std::fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_none())
}

fn is_open(metadata: &Metadata) -> bool {
    !metadata.is_symlink() && metadata.permissions().mode() & OTHERS != 0 && !JobUser::is_way(metadata)
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+=:@,".contains(c));
    if plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
