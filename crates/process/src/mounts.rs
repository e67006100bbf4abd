//! The list of mounts that this process sees.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use rustix::mount::MountFlags;

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// The part of the file system that is mounted.
    pub(super) root: PathBuf,
    pub(super) place: PathBuf,
    pub(super) flags: MountFlags,
    /// The type of the file system.
    pub(super) kind: Vec<u8>,
}

impl Mount {
    /// All mounts in the list.
    pub(super) fn all(list: &[u8]) -> impl Iterator<Item = Self> {
        list.split(|byte| *byte == b'\n').filter_map(Self::read)
    }

    /// Reads a line such as `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`.
    fn read(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ');
        let (root, place, options) = (fields.nth(3)?, fields.next()?, fields.next()?);
        let kind = fields.skip_while(|field| *field != b"-").nth(1).unwrap_or_default();
        let flags = options.split(|byte| *byte == b',').map(|option| match option {
            b"ro" => MountFlags::RDONLY,
            b"nosuid" => MountFlags::NOSUID,
            b"nodev" => MountFlags::NODEV,
            b"noexec" => MountFlags::NOEXEC,
            b"noatime" => MountFlags::NOATIME,
            b"nodiratime" => MountFlags::NODIRATIME,
            b"relatime" => MountFlags::RELATIME,
            _ => MountFlags::empty(),
        });
        Some(Self { root: plain(root), place: plain(place), flags: flags.collect(), kind: kind.to_owned() })
    }
}

/// Returns a path without the escapes of the list: `\040` is a space.
fn plain(escaped: &[u8]) -> PathBuf {
    let (mut path, mut rest) = (Vec::with_capacity(escaped.len()), escaped);
    while let Some((byte, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(escaped) => {
                path.push(escaped);
                rest = &after[3..];
            }
            None => {
                path.push(*byte);
                rest = after;
            }
        }
    }
    OsString::from_vec(path).into()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_line_of_the_list_of_mounts_is_understood() {
        let line = b"36 35 98:0 /mnt1 /a\\040b\\134c ro,nosuid,relatime master:1 - ext3 /dev/root rw,errors=continue";
        let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::RELATIME;
        let mount = Mount { root: "/mnt1".into(), place: "/a b\\c".into(), flags, kind: b"ext3".to_vec() };
        assert_eq!(Mount::all(line).collect::<Vec<_>>(), [mount]);
        assert_eq!(Mount::all(b"").count(), 0);
        assert_eq!(plain(b"\\04"), Path::new("\\04"));
    }
}
