//! That a data directory belongs to one server at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::store::Error;

/// The file in the data directory that the server which has it keeps locked.
const LOCK: &str = "hero.lock";
/// Whoever only looks who has the lock has it for a moment; so long it is waited for.
const LOOK: Duration = Duration::from_millis(200);

/// Takes the data directory for this process. It belongs to it as long as the file is open.
pub fn take(data: &Path) -> Result<File, Error> {
    let path = data.join(LOCK);
    let failed = |error: io::Error| Error::Unsuitable(format!("{}: {error}", path.display()));
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed)?;
    let began = Instant::now();
    while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if began.elapsed() >= LOOK {
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

/// Who has the data directory, as he wrote it into the lock; `None` if nobody has it.
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

/// The process that wrote itself into a lock.
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
}
