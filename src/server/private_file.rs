//! Files with secrets, readable by their owner only.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use rustix::fs::{Access, access};

use crate::exit::Usage;

/// The permissions of group and others.
const OTHERS: u32 = 0o077;

/// Reads the file; `None` if it does not exist. Fails if others can read it.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
    };
    let mode = path.metadata()?.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        bail!("others may read {} (mode {mode:03o}); close it with: chmod 600 {0}", path.display());
    }
    Ok(Some(text))
}

/// Creates the file with one line, atomically. Returns `false` if it exists already.
pub(crate) fn make(path: &Path, line: &str) -> anyhow::Result<bool> {
    let written = || {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        let unfinished = path.with_extension(format!("{:016x}", rand::random::<u64>()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        let linked = writeln!(file, "{line}").and_then(|()| file.sync_all()).and_then(|()| std::fs::hard_link(&unfinished, path));
        std::fs::remove_file(&unfinished)?;
        linked
    };
    match written() {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error).with_context(|| format!("{} cannot be made", path.display())),
    }
}

/// Checks that a directory exists or can be created, and can be written to.
pub(crate) fn ensure_writable(setting: &str, directory: &Path) -> anyhow::Result<()> {
    let there = directory.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    let refused = |why: &dyn std::fmt::Display| anyhow!(Usage(format!("{setting}: {} cannot be written in: {why}", there.display())));
    if !there.is_dir() {
        return Err(refused(&"it is no directory"));
    }
    access(there, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| refused(&error))
}
