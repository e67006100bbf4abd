//! The users that engines and jobs become when hero is root.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown};
use std::path::Path;

use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

/// The first number of a user of ours; to it comes the number of an engine's process, so that no two share a user. No system and no
/// container gives these numbers to anybody else, and none of them has an entry in a file.
const FIRST: u32 = 0x7000_0000;
/// The first of those where there are no such numbers, as in some containers, and how many there are. Engines may share one.
const FEW: (u32, u32) = (60_578, 600);

/// What others may do with a directory on the way, with a file and a directory to use.
const PASS: u32 = 0o001;
const READ: u32 = 0o004;

/// What it takes to start processes of other users and to look after them and their files.
pub(super) const OF_ROOT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// Whose user the process of a job is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobUser {
    /// That of its supervisor, who is not root.
    Same,
    /// One of its own.
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

    /// The user for the jobs of this process, which is their supervisor and works in a directory. They have to reach these paths.
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

/// The user of this process' own number.
pub(super) fn number() -> Result<u32, String> {
    let may = capabilities(None).is_ok_and(|sets| sets.effective.contains(OF_ROOT));
    if !may || fs::read_to_string("/proc/self/setgroups").is_ok_and(|groups| groups.trim() == "deny") {
        return Err("root may not start processes of other users here".to_owned());
    }
    let own = FIRST + std::process::id();
    let few = FEW.0 + std::process::id() % FEW.1;
    let maps = ["/proc/self/uid_map", "/proc/self/gid_map"].map(|file| fs::read_to_string(file).unwrap_or_default());
    let exists = |number: &u32| maps.iter().all(|map| has(map, *number));
    [own, few].into_iter().find(exists).ok_or_else(|| "this container has no other users".to_owned())
}

/// Whether a number is in a map of a user namespace: lines of first number inside, first number outside, and how many.
fn has(map: &str, number: u32) -> bool {
    map.lines().any(|line| {
        let mut fields = line.split_whitespace().map(str::parse::<u32>);
        let (Some(Ok(first)), Some(_), Some(Ok(count))) = (fields.next(), fields.next(), fields.next()) else { return false };
        number.checked_sub(first).is_some_and(|at| at < count)
    })
}

/// Whether everybody can use a file or look into a directory; if not, why. One that does not exist is no obstacle.
pub(super) fn reaches(path: &Path) -> Result<(), String> {
    let Ok(real) = path.canonicalize() else { return Ok(()) };
    for path in [path, &real] {
        path.parent().map_or(Ok(()), passes)?;
    }
    allows(&real, |metadata| if metadata.is_dir() { READ | PASS } else { READ })
}

/// Whether everybody can run a program, were it in a directory that he can pass through; if not, why.
pub(super) fn runs(program: &Path) -> Result<(), String> {
    allows(program, |_| READ | PASS)
}

/// Whether everybody can pass through a directory and those above it.
fn passes(directory: &Path) -> Result<(), String> {
    directory.ancestors().filter(|above| above.is_absolute()).try_for_each(|above| allows(above, |_| PASS))
}

fn allows(path: &Path, needed: impl Fn(&Metadata) -> u32) -> Result<(), String> {
    let metadata = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let needed = needed(&metadata);
    if metadata.mode() & needed == needed { Ok(()) } else { Err(format!("{} is closed to other users", path.display())) }
}

/// Becomes this user for good, with a group of the same number and no other. What root may goes with that.
pub(super) fn become_user(number: u32) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(number), Gid::from_raw(number));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    Ok(set_thread_res_uid(user, user, user)?)
}

/// Gives up what root may besides what is his own, but for these.
pub(super) fn give_up_capabilities(kept: CapabilitySet) -> io::Result<()> {
    let kept = kept & capabilities(None)?.permitted;
    Ok(set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_looked_for_in_the_maps_of_the_namespace() {
        assert!(has("         0          0 4294967295\n", FIRST + 4_000_000));
        let some = "0 1000 1\n1 100000 65536";
        assert!(has(some, 0) && has(some, 65_536) && !has(some, 65_537) && !has(some, FIRST));
        assert!(!has("", 0) && !has("x", 0));
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
