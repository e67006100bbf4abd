//! Copies trees: files, directories and links as they are, whoever they belong to.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, lchown};
use std::path::Path;

use anyhow::{Context as _, bail};

/// How deep directories may be: as deep as a path of the system can name.
const DEEPEST: usize = 2048;

/// Copies what is at `from` to `to`, which is not there yet. Sockets, pipes and devices are left out, and so is what is gone meanwhile.
pub(super) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    copy_at(from, to, 0)
}

/// Copies what is in a directory into another, but for the entry of this name.
pub(super) fn copy_into(from: &Path, to: &Path, but: &str) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let name = entry?.file_name();
        if name != but {
            copy_at(&from.join(&name), &to.join(&name), 0)?;
        }
    }
    Ok(())
}

fn copy_at(from: &Path, to: &Path, depth: usize) -> anyhow::Result<()> {
    if depth > DEEPEST {
        bail!("{} is nested deeper than {DEEPEST} directories", from.display());
    }
    let there = match from.symlink_metadata() {
        Ok(there) => there,
        // Scripts may remove their files at any time.
        Err(error) if error.kind() == io::ErrorKind::NotFound && depth > 0 => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("cannot copy {}", from.display())),
    };
    let kind = there.file_type();
    let copied = if kind.is_symlink() {
        std::fs::read_link(from).and_then(|target| std::os::unix::fs::symlink(target, to))
    } else if kind.is_dir() {
        std::fs::DirBuilder::new().mode(0o700).create(to).with_context(|| format!("cannot make {}", to.display()))?;
        for entry in std::fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
            let entry = entry?;
            copy_at(&entry.path(), &to.join(entry.file_name()), depth + 1)?;
        }
        Ok(())
    } else if kind.is_file() {
        match copy_file(from, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && depth > 0 => return Ok(()),
            copied => copied,
        }
    } else {
        return Ok(());
    };
    copied.with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    if rustix::process::geteuid().is_root() {
        lchown(to, Some(there.uid()), Some(there.gid())).with_context(|| format!("cannot give {} to its owner", to.display()))?;
    }
    if !kind.is_symlink() {
        std::fs::set_permissions(to, Permissions::from_mode(there.mode() & 0o7777)).with_context(|| to.display().to_string())?;
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    // Not through a link that somebody puts there meanwhile, and never into what is there.
    let nofollow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits() | rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let mut read = File::options().read(true).custom_flags(nofollow).open(from)?;
    let mut write = File::options().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut read, &mut write)?;
    write.sync_all()
}

/// Has everything of a directory be on the disk.
pub(super) fn sync_all(directory: &Path) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all(&entry.path())?;
        } else if entry.file_type()?.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_directory(directory)
}

/// Has the names in a directory be on the disk.
pub(super) fn sync_directory(directory: &Path) -> anyhow::Result<()> {
    File::open(directory).and_then(|directory| directory.sync_all()).with_context(|| directory.display().to_string())
}
