//! The users that engines and jobs become when hero is root.

use std::fmt;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown};
use std::path::Path;
use std::str::FromStr;

use rustix::fs::{AtFlags, FileType, chownat, fstat};
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

/// The variable in which the first process of a PID namespace finds the process id of the process that waits for it
/// outside.
pub(super) const OUTSIDE: &str = "HERO_OUTSIDE";

/// Ranges of users of ours: the first number and the size. No system and no container assigns numbers of the first
/// range, and none of them has an entry in a file. The second range is for containers without the first: there jobs may
/// share users.
pub(super) type Numbers = [(u32, u32); 2];
/// The offset is the process id of an engine, so that no two share a user.
pub(super) const ENGINES: Numbers = [(0x7000_0000, 1 << 24), (60_578, 500)];

/// Prefix of the reason why a user is root, in an argument.
const ROOT: &str = "root ";
/// Stands for hero's own user, in an argument.
const SAME: &str = "same";

/// The permissions of others: to pass through a directory on the way, and to read a file or directory.
pub(super) const PASS: u32 = 0o001;
const READ: u32 = 0o004;

/// The capabilities needed to start processes of other users and to manage them and their files.
pub(super) const OF_ROOT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// The user of a job's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobUser {
    /// That of its supervisor, which is not root.
    Same,
    /// A user of its own.
    Own(u32),
    /// Root, for this reason.
    Root(String),
}

impl JobUser {
    /// To pass through a directory.
    pub const PASS: u32 = PASS;
    /// To read a file.
    pub const READ: u32 = READ;
    /// To run a file, or to look into a directory.
    pub const USE: u32 = READ | PASS;

    /// Chooses the user for the jobs of this process, which is their supervisor and works in `directory`. The user has
    /// to reach these paths.
    pub fn choose<'a>(paths: impl IntoIterator<Item = &'a Path>, directory: &Path) -> Self {
        if !geteuid().is_root() {
            return Self::Same;
        }
        let reached = || {
            paths.into_iter().try_for_each(reaches)?;
            directory.parent().map_or(Ok(()), passes)?;
            number()
        };
        reached().map_or_else(Self::Root, Self::Own)
    }

    /// Returns the number of the user to whom files are given.
    pub fn owner(&self) -> Option<u32> {
        match self {
            Self::Same => None,
            Self::Own(number) => Some(*number),
            Self::Root(_) => Some(0),
        }
    }

    /// Gives an open file or directory to the user, if the file system has owners. A file with several names keeps its
    /// owner, as one of the names may be elsewhere.
    pub fn give_open(&self, open: impl AsFd) -> io::Result<()> {
        let Some(number) = self.owner() else { return Ok(()) };
        let found = fstat(&open)?;
        let has_names = !FileType::from_raw_mode(found.st_mode).is_dir() && found.st_nlink != 1;
        if found.st_uid == number || has_names {
            return Ok(());
        }
        // This also works for a descriptor opened as a path only.
        match chownat(open, c"", Some(Uid::from_raw(number)), Some(Gid::from_raw(number)), AtFlags::EMPTY_PATH) {
            // Root without this right can use the file anyway.
            Err(_) if matches!(self, Self::Root(_)) => Ok(()),
            Err(error) if knows_no_owners(&error.into()) => Ok(()),
            given => Ok(given?),
        }
    }

    /// Gives a file or directory to the user.
    pub fn give(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Own(number) => lchown(path, Some(*number), Some(*number)),
            Self::Same | Self::Root(_) => Ok(()),
        }
    }

    /// Lets the user pass through a directory, or use a file, that stays ours: `mode` is [what he may do](Self::USE).
    pub fn admit(&self, path: &Path, mode: u32) -> io::Result<()> {
        let Self::Own(number) = self else { return Ok(()) };
        chown(path, Some(0), Some(*number))?;
        let ours = fs::metadata(path)?.permissions().mode() & 0o700;
        fs::set_permissions(path, Permissions::from_mode(ours | mode << 3))
    }
}

impl fmt::Display for JobUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same => f.write_str(SAME),
            Self::Own(number) => write!(f, "{number}"),
            Self::Root(why) => write!(f, "{ROOT}{why}"),
        }
    }
}

impl FromStr for JobUser {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix(ROOT) {
            _ if text == SAME => Ok(Self::Same),
            Some(why) => Ok(Self::Root(why.to_owned())),
            None => text.parse().map(Self::Own).map_err(|_| format!("{text} is no user")),
        }
    }
}

/// Whether an error says that a file system has no owners to change, like some network file systems and those of other
/// systems.
pub(super) fn knows_no_owners(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

/// Returns the user that follows from the process id. The first process of a PID namespace uses the id of the process
/// that waits for it outside, or all would share a user.
pub(super) fn number() -> Result<u32, String> {
    let own = std::process::id();
    let outside = std::env::var(OUTSIDE).ok().filter(|_| own == 1).and_then(|number| number.parse().ok());
    numbered(ENGINES, |count| outside.unwrap_or(own) % count)
}

/// Returns a user of these ranges, if this process can become one. `at` computes the offset from the size of a range.
pub(super) fn numbered(numbers: Numbers, at: impl Fn(u32) -> u32) -> Result<u32, String> {
    let may = capabilities(None).is_ok_and(|sets| sets.effective.contains(OF_ROOT));
    if !may || fs::read_to_string("/proc/self/setgroups").is_ok_and(|groups| groups.trim() == "deny") {
        return Err("root may not start processes of other users here".to_owned());
    }
    let maps = ["/proc/self/uid_map", "/proc/self/gid_map"].map(|file| fs::read_to_string(file).unwrap_or_default());
    let exists = |number: &u32| maps.iter().all(|map| has(map, *number));
    let found = numbers.into_iter().map(|(first, count)| first + at(count)).find(exists);
    found.ok_or_else(|| "this container has no other users".to_owned())
}

/// Whether a number is in a map of a user namespace. Its lines have the first number inside, the first number outside,
/// and the count.
fn has(map: &str, number: u32) -> bool {
    map.lines().any(|line| {
        let mut fields = line.split_whitespace().map(str::parse::<u32>);
        let (Some(Ok(first)), Some(_), Some(Ok(count))) = (fields.next(), fields.next(), fields.next()) else { return false };
        number.checked_sub(first).is_some_and(|at| at < count)
    })
}

/// Checks that everybody can use a file or look into a directory; if not, returns the reason. A missing path is no
/// obstacle.
pub(super) fn reaches(path: &Path) -> Result<(), String> {
    let Ok(real) = path.canonicalize() else { return Ok(()) };
    for path in [path, &real] {
        path.parent().map_or(Ok(()), passes)?;
    }
    allows(&real, |metadata| if metadata.is_dir() { READ | PASS } else { READ })
}

/// Checks that everybody could run a program if he could pass through the directories above; if not, returns the
/// reason.
pub(super) fn runs(program: &Path) -> Result<(), String> {
    allows(program, |_| READ | PASS)
}

/// Checks that everybody can pass through a directory and those above it.
pub(super) fn passes(directory: &Path) -> Result<(), String> {
    directory.ancestors().filter(|above| above.is_absolute()).try_for_each(|above| allows(above, |_| PASS))
}

fn allows(path: &Path, needed: impl Fn(&Metadata) -> u32) -> Result<(), String> {
    let metadata = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let needed = needed(&metadata);
    if metadata.mode() & needed == needed { Ok(()) } else { Err(format!("{} is closed to other users", path.display())) }
}

/// Becomes this user for good, with the group of the same number, and no other group except that of the users of
/// directories. This gives up the rights of root.
pub(super) fn become_user(number: u32) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(number), Gid::from_raw(number));
    set_thread_groups(JobUser::Own(number).group().map(Gid::from_raw).as_slice())?;
    set_thread_res_gid(group, group, group)?;
    Ok(set_thread_res_uid(user, user, user)?)
}

/// Gives up the capabilities of root, except these.
pub(super) fn give_up_capabilities(kept: CapabilitySet) -> io::Result<()> {
    let kept = kept & capabilities(None)?.permitted;
    Ok(set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_looked_for_in_the_maps_of_the_namespace() {
        let first = ENGINES[0].0;
        assert!(has("         0          0 4294967295\n", first + 4_000_000));
        let some = "0 1000 1\n1 100000 65536";
        assert!(has(some, 0) && has(some, 65_536) && !has(some, 65_537) && !has(some, first));
        assert!(!has("", 0) && !has("x", 0));
    }

    #[test]
    fn a_user_in_an_argument_is_understood() {
        for user in [JobUser::Same, JobUser::Own(7), JobUser::Root("/root is closed".into())] {
            assert_eq!(user.to_string().parse(), Ok(user));
        }
        assert_eq!("x".parse::<JobUser>(), Err("x is no user".to_owned()));
    }

    #[test]
    fn what_is_closed_to_others_is_named() {
        let directory = tempfile::tempdir_in("/tmp").unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        set(&file, 0o755);
        set(directory.path(), 0o700);
        assert!(reaches(&file).unwrap_err().contains("is closed to other users"));
        set(directory.path(), 0o711);
        assert_eq!(reaches(&file), Ok(()));
        assert!(reaches(directory.path()).is_err());
        set(&file, 0o700);
        assert!(reaches(&file).is_err());
        assert_eq!(reaches(&directory.path().join("missing")), Ok(()));
        assert_eq!(reaches(Path::new("/bin/sh")), Ok(()));
    }
}
