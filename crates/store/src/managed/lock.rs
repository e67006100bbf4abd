//! The lock of a data directory, which belongs to one server at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::geteuid;

use crate::Error;

/// The file in the data directory that its server keeps locked.
const LOCK: &str = "hero.lock";
/// The time to wait for the lock. A process that only checks the holder has it for a moment.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);

/// Takes the data directory for this process, as long as the file is open.
pub fn take(data: &Path) -> Result<File, Error> {
    let path = data.join(LOCK);
    let failed = |error: io::Error| Error::Unsuitable(format!("{}: {error}", path.display()));
    let mut file = open(data, &path).map_err(failed)?;
    let began = Instant::now();
    while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if began.elapsed() >= LOCK_TIMEOUT {
            return Err(Error::Unsuitable(format!(
                "{} belongs to a hero that runs (process {}); stop it, choose another --data, or share its Redis with \
                 --redis unix://{} --redis-password-file {}",
                data.display(),
                written(&path),
                data.join("redis.sock").display(),
                data.join("redis.secret").display()
            )));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(failed)?;
    Ok(file)
}

/// Opens the lock, and creates it if it is missing. A lock that root creates belongs to the owner of the directory, whose server needs it.
fn open(data: &Path, path: &Path) -> io::Result<File> {
    // Links are not followed, because the file is emptied.
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0);
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(flags);
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options.open(path),
        Ok(file) if geteuid().is_root() => {
            let owner = data.metadata()?;
            fchown(&file, Some(owner.uid()), Some(owner.gid()))?;
            Ok(file)
        }
        opened => opened,
    }
}

/// Returns the holder of the data directory, as it wrote itself into the lock; `None` if nobody holds it.
pub fn holder(data: &Path) -> io::Result<Option<String>> {
    let path = data.join(LOCK);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let is_held = flock(&file, FlockOperation::NonBlockingLockShared).is_err();
    Ok(is_held.then(|| written(&path)))
}

/// Returns the process that wrote itself into a lock.
fn written(lock: &Path) -> String {
    let holder = std::fs::read_to_string(lock).unwrap_or_default();
    if holder.trim().is_empty() { "unknown".to_owned() } else { holder.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_belongs_to_one_server() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(holder(data.path()).unwrap(), None);
        let first = take(data.path()).unwrap();
        let own = std::process::id().to_string();
        let error = take(data.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("process {own}")), "{error}");
        assert_eq!(holder(data.path()).unwrap(), Some(own));
        drop(first);
        assert_eq!(holder(data.path()).unwrap(), None);
        assert!(take(data.path()).is_ok());
    }

    #[test]
    fn a_lock_that_root_makes_belongs_to_the_owner_of_the_directory_and_no_link_is_followed() {
        let data = tempfile::tempdir().unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(outside.path(), "kept").unwrap();
        std::os::unix::fs::symlink(outside.path(), data.path().join(LOCK)).unwrap();
        assert!(take(data.path()).is_err());
        assert_eq!(std::fs::read_to_string(outside.path()).unwrap(), "kept");
        std::fs::remove_file(data.path().join(LOCK)).unwrap();
        if geteuid().is_root() {
            std::os::unix::fs::chown(data.path(), Some(4711), Some(4712)).unwrap();
            let made = take(data.path()).unwrap().metadata().unwrap();
            assert_eq!((made.uid(), made.gid()), (4711, 4712));
        }
    }
}
