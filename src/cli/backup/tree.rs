//! Walks trees by file descriptors, so that renaming an entry in the meantime cannot lead out of the tree.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::{Errno, Result};

/// The maximum depth of directories. Each level takes two descriptors.
pub(super) const MAX_DEPTH: usize = 256;
/// The directory with the files of scripts.
const OF_SCRIPTS: &str = "files";

/// An entry of a directory, opened if possible.
pub(super) enum Found {
    Directory(File),
    File(File),
    Link(OsString),
    /// A socket, a pipe or a device.
    Other,
}

/// Whether a path of a copy belongs to scripts, which can give their files any name and type.
pub(super) fn is_of_scripts(below: &Path) -> bool {
    below.starts_with(OF_SCRIPTS)
}

/// Whether a copy may have a link at this path.
pub(super) fn may_be_link(below: &Path) -> bool {
    is_of_scripts(below) && below != Path::new(OF_SCRIPTS)
}

/// Opens a directory named by the caller.
pub(super) fn directory(path: &Path) -> Result<File> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map(File::from)
}

/// Lists the names in a directory.
pub(super) fn names(directory: &File) -> Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}

/// Opens an entry of a directory; `None` if it has disappeared or changed its type.
pub(super) fn open(directory: &File, name: &OsStr) -> Result<Option<(Found, Stat)>> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(seen) => open_as(directory, name, seen),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn open_as(directory: &File, name: &OsStr, seen: Stat) -> Result<Option<(Found, Stat)>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = match FileType::from_raw_mode(seen.st_mode) {
        FileType::Symlink => {
            readlinkat(directory, name, Vec::new()).map(|target| (Found::Link(OsString::from_vec(target.into_bytes())), seen))
        }
        FileType::Directory => openat(directory, name, flags | OFlags::DIRECTORY, Mode::empty())
            .and_then(|opened| fstat(&opened).map(|stat| (Found::Directory(opened.into()), stat))),
        FileType::RegularFile => openat(directory, name, flags, Mode::empty()).and_then(|opened| {
            let stat = fstat(&opened)?;
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            if is_file { Ok((Found::File(opened.into()), stat)) } else { Err(Errno::NXIO) }
        }),
        _ => Ok((Found::Other, seen)),
    };
    match opened {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL | Errno::NXIO) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Formats a path. Bytes that are not UTF-8 are written as `\xNN`.
pub(super) fn named(path: &Path) -> String {
    let mut name = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        name.push_str(&chunk.valid().replace('\\', "\\\\"));
        name.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_a_link_or_a_pipe_after_it_was_seen_is_not_entered() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("secret"), "s").unwrap();
        std::fs::create_dir(inside.path().join("directory")).unwrap();
        std::fs::write(inside.path().join("file"), "f").unwrap();
        let opened = directory(inside.path()).unwrap();
        let seen = |name: &str| statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        let (directory, file) = (seen("directory"), seen("file"));
        let again = |name: &str, seen: Stat| open_as(&opened, OsStr::new(name), seen).unwrap().is_none();
        assert!(!again("directory", directory) && !again("file", file));
        std::fs::remove_dir(inside.path().join("directory")).unwrap();
        std::fs::remove_file(inside.path().join("file")).unwrap();
        std::os::unix::fs::symlink(outside.path(), inside.path().join("directory")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), inside.path().join("file")).unwrap();
        assert!(again("directory", directory) && again("file", file));
        std::fs::remove_file(inside.path().join("file")).unwrap();
        rustix::fs::mknodat(&opened, "file", FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(again("file", file));
    }
}
