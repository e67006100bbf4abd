//! Opens directories whose owners may have removed their own permissions.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags, chmod, fchmod, fstat, openat};
use rustix::io::Errno;
use rustix::path::Arg;

/// Opens a directory in another one. Does not follow a link.
pub fn open(directory: impl AsFd, name: impl Arg) -> rustix::io::Result<OwnedFd> {
    openat(directory, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a directory whose owner may have removed his own permissions, and restores them: without them nobody can look
/// into the directory.
pub fn open_closed(directory: impl AsFd, name: impl Arg + Copy) -> rustix::io::Result<OwnedFd> {
    match open(&directory, name) {
        Err(Errno::ACCESS) => {
            let closed = openat(&directory, name, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
            // Another directory may have the name by now.
            chmod(format!("/proc/self/fd/{}", closed.as_raw_fd()), Mode::RWXU)?;
            open(&closed, ".")
        }
        Ok(opened) => {
            let mode = Mode::from_raw_mode(fstat(&opened)?.st_mode);
            if !mode.contains(Mode::RUSR | Mode::XUSR) {
                // The directory can belong to another user, to whom its permissions do not apply.
                let _ = fchmod(&opened, mode | Mode::RWXU);
            }
            Ok(opened)
        }
        failed => failed,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::fs::CWD;

    use super::*;

    #[test]
    fn a_directory_is_opened_whoever_may_enter_it() {
        let directory = tempfile::tempdir().unwrap();
        let name = directory.path().join("d");
        fs::create_dir(&name).unwrap();
        fs::write(name.join("file"), "x").unwrap();
        for mode in [0o000, 0o200, 0o400, 0o100] {
            fs::set_permissions(&name, fs::Permissions::from_mode(mode)).unwrap();
            let opened = open_closed(CWD, &name).unwrap();
            assert!(rustix::fs::statat(&opened, "file", rustix::fs::AtFlags::empty()).is_ok(), "{mode:o}");
        }
        assert_eq!(fs::metadata(&name).unwrap().permissions().mode() & 0o700, 0o700);
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&name, &link).unwrap();
        assert!(open_closed(CWD, &link).is_err());
    }
}
