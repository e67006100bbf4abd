//! Copies trees of files, directories and links, with their owners and modes.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, SeekFrom as SeekTo, Stat, Uid, chownat, fchmod, fchown, ftruncate, mkdirat, openat, seek, symlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::tree::{self, Found, MAX_DEPTH, is_of_scripts, may_be_link, named};
use crate::process::closed;

/// Copies `from` to `to`, which must not exist. Skips sockets, pipes, devices, and entries that disappear in the
/// meantime. Also skips unreadable files of scripts, and adds them to `left_out`.
pub(super) fn copy(from: &Path, to: &Path, left_out: &mut Vec<String>) -> anyhow::Result<()> {
    let opened = |path: &Path| {
        let parent = path.parent().unwrap_or(Path::new("/"));
        tree::directory(parent).with_context(|| format!("cannot open {}", parent.display()))
    };
    let (source, name) = (opened(from)?, from.file_name().unwrap_or_default());
    let (target, new) = (opened(to)?, to.file_name().unwrap_or_default());
    Copying { left_out: Some(left_out) }.entry((&source, name), (&target, new), Path::new(name), 0)
}

/// Copies the entries of a directory into another, except the one with this name and those that are not files,
/// directories or links.
pub(super) fn copy_into(from: &Path, to: &Path, but: &str) -> anyhow::Result<()> {
    let source = tree::directory(from).with_context(|| format!("cannot open {}", from.display()))?;
    let target = tree::directory(to).with_context(|| format!("cannot open {}", to.display()))?;
    for name in tree::names(&source).with_context(|| format!("cannot read {}", from.display()))? {
        if name != but {
            Copying { left_out: None }.entry((&source, &name), (&target, &name), Path::new(&name), 0)?;
        }
    }
    Ok(target.sync_all()?)
}

struct Copying<'a> {
    /// Collects unreadable entries, where they are no error.
    left_out: Option<&'a mut Vec<String>>,
}

impl Copying<'_> {
    fn entry(&mut self, from: (&File, &OsStr), to: (&File, &OsStr), below: &Path, depth: usize) -> anyhow::Result<()> {
        let opened = if depth > MAX_DEPTH { Err(Errno::NAMETOOLONG) } else { tree::open(from.0, from.1) };
        let failed = || format!("cannot copy {}", named(below));
        let (found, stat) = match (opened, &mut self.left_out) {
            (Ok(Some((Found::Link(_), _))), _) if !may_be_link(below) => {
                bail!("{} is a link, and a copy has links in the directories of scripts only; put there what it leads to", named(below))
            }
            (Ok(Some((Found::Other, _))), None) => bail!("{} is no file, directory or link", named(below)),
            (Ok(Some(found)), _) => found,
            // Scripts may remove their files at any time.
            (Ok(None), Some(_)) if depth > 0 => return Ok(()),
            (Ok(None), _) => bail!("{} is gone, or became something else meanwhile", named(below)),
            (Err(Errno::ACCESS | Errno::PERM | Errno::AGAIN | Errno::NAMETOOLONG), Some(left_out)) if is_of_scripts(below) => {
                left_out.push(named(below));
                return Ok(());
            }
            (Err(Errno::NAMETOOLONG), _) => bail!("{} is nested deeper than {MAX_DEPTH} directories", named(below)),
            (Err(error), _) => return Err(error).with_context(failed),
        };
        match found {
            Found::Other => Ok(()),
            Found::Link(target) => symlinkat(&target, to.0, to.1)
                .and_then(|()| match owner(&stat) {
                    Some((user, group)) => chownat(to.0, to.1, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW),
                    None => Ok(()),
                })
                .with_context(failed),
            Found::File(mut file) => make_file(to)
                .and_then(|mut made| {
                    copy_data(&mut file, &mut made, u64::try_from(stat.st_size).unwrap_or(0))?;
                    finish(&made, &stat, 0o400)
                })
                .with_context(failed),
            Found::Directory(directory) => {
                let made = make_directory(to).with_context(failed)?;
                for name in tree::names(&directory).with_context(failed)? {
                    self.entry((&directory, &name), (&made, &name), &below.join(&name), depth + 1)?;
                }
                finish(&made, &stat, 0o500).with_context(failed)
            }
        }
    }
}

/// Returns the owner for a copy, if root makes it.
fn owner(stat: &Stat) -> Option<(Uid, Gid)> {
    geteuid().is_root().then(|| (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid)))
}

/// Sets the owner and mode of the original, and syncs the copy to the disk. If the copy becomes ours, also makes it
/// readable for us.
fn finish(made: &File, stat: &Stat, readable: u32) -> io::Result<()> {
    let mut mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
    if let Some((user, group)) = owner(stat) {
        fchown(made, Some(user), Some(group))?;
    } else if stat.st_uid != geteuid().as_raw() {
        mode |= Mode::from_raw_mode(readable);
    }
    fchmod(made, mode)?;
    made.sync_all()
}

fn make_directory((directory, name): (&File, &OsStr)) -> io::Result<File> {
    mkdirat(directory, name, Mode::RWXU)?;
    Ok(closed::open(directory, name)?.into())
}

/// Creates a new file; fails if it exists.
fn make_file((directory, name): (&File, &OsStr)) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Copies the data that a file had when it was opened. Keeps its holes.
fn copy_data(from: &mut File, to: &mut File, length: u64) -> io::Result<()> {
    let mut end = 0;
    while end < length {
        let (begin, hole) = match seek(&*from, SeekTo::Data(end)) {
            Ok(begin) => (begin, seek(&*from, SeekTo::Hole(begin)).unwrap_or(length).min(length)),
            Err(Errno::NXIO) => break,
            // The file system does not support holes.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => (end, length),
            Err(error) => return Err(error.into()),
        };
        if begin >= length {
            break;
        }
        from.seek(SeekFrom::Start(begin))?;
        to.seek(SeekFrom::Start(begin))?;
        let copied = io::copy(&mut Read::by_ref(from).take(hole.saturating_sub(begin)), to)?;
        if copied == 0 {
            break;
        }
        end = begin + copied;
    }
    to.flush()?;
    Ok(ftruncate(&*to, length.min(from.metadata()?.len()))?)
}

/// Writes a new file.
pub(super) fn write(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    let write = || {
        let mut file = File::options().write(true).create_new(true).open(path)?;
        file.write_all(text)?;
        file.sync_all()
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// As root, sets the owner of a path to that of another.
pub(super) fn give(path: &Path, like: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, lchown};

    if geteuid().is_root() {
        let owner = like.symlink_metadata().with_context(|| like.display().to_string())?;
        lchown(path, Some(owner.uid()), Some(owner.gid()))
            .map_err(|error| anyhow!("cannot give {} to its owner: {error}", path.display()))?;
    }
    Ok(())
}

/// Syncs the entries of a directory to the disk.
pub(super) fn sync_directory(directory: &Path) -> anyhow::Result<()> {
    File::open(directory).and_then(|directory| directory.sync_all()).with_context(|| directory.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt};

    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

    use super::*;

    #[test]
    fn what_of_scripts_cannot_be_read_is_left_out_and_named() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["files", "logs"] {
            let directory = from.path().join(name);
            std::fs::create_dir_all(directory.join("shut")).unwrap();
            for (file, mode) in [("open", 0o640), ("closed", 0)] {
                std::fs::write(directory.join(file), "x").unwrap();
                std::fs::set_permissions(directory.join(file), PermissionsExt::from_mode(mode)).unwrap();
            }
            std::fs::set_permissions(directory.join("shut"), PermissionsExt::from_mode(0o000)).unwrap();
        }
        std::os::unix::fs::symlink("/", from.path().join("files/link")).unwrap();
        // Acts as a user other than root, in this thread only.
        let mut sets = capabilities(None).unwrap();
        sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        set_capabilities(None, sets).unwrap();
        let mut left_out = Vec::new();
        copy(&from.path().join("files"), &to.path().join("files"), &mut left_out).unwrap();
        left_out.sort();
        assert_eq!(left_out, ["files/closed", "files/shut"]);
        assert_eq!(std::fs::metadata(to.path().join("files/open")).unwrap().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_link(to.path().join("files/link")).unwrap(), Path::new("/"));
        assert!(copy(&from.path().join("logs"), &to.path().join("logs"), &mut left_out).is_err());
        set_capabilities(
            None,
            capabilities(None).map(|sets| rustix::thread::CapabilitySets { effective: sets.permitted, ..sets }).unwrap(),
        )
        .unwrap();
    }

    #[test]
    fn holes_take_no_room() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (sparse, copied) = (from.path().join("sparse"), to.path().join("sparse"));
        let mut file = File::create_new(&sparse).unwrap();
        file.seek(SeekFrom::Start(100 << 20)).unwrap();
        file.write_all(b"middle").unwrap();
        file.set_len(200 << 20).unwrap();
        copy(&sparse, &copied, &mut Vec::new()).unwrap();
        let mut file = File::open(&copied).unwrap();
        let there = file.metadata().unwrap();
        assert_eq!(there.len(), 200 << 20);
        assert!(there.blocks() * 512 < 1 << 20, "{}", there.blocks());
        file.seek(SeekFrom::Start(100 << 20)).unwrap();
        let mut text = [0; 6];
        file.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"middle");
    }
}
