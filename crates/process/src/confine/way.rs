//! The users of directories, such as those of contexts, and how they pass through the directories above.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use sha2::{Digest, Sha256};

use super::user::{JobUser, Numbers, PASS, knows_no_owners, numbered, passes};

/// The first number is a group, which may pass through the directories above. The path of a directory determines the
/// offset from it.
const DIRECTORIES: Numbers = [(0x7100_0000, 1 << 24), (61_078, 106)];
/// The permission with which a group passes through a directory.
const OF_GROUP: u32 = PASS << 3;

impl JobUser {
    /// Returns the user for everything in a directory that is below these directories of hero. The first of these need
    /// not exist. The user only depends on the path, and each path has its own.
    pub fn of_directory(directory: &Path, above: &[&Path]) -> Self {
        if !geteuid().is_root() {
            return Self::Same;
        }
        let reached = || {
            let [first, ..] = above else { return Err("nothing is above it".to_owned()) };
            let place = real(first).map_err(|error| format!("{}: {error}", first.display()))?;
            for path in [first, &*place] {
                path.parent().map_or(Ok(()), passes)?;
            }
            // A link may lead to another place.
            let elsewhere = above.iter().skip(1).filter_map(|above| above.canonicalize().ok()).filter(|above| !above.starts_with(&place));
            elsewhere.filter_map(|above| above.parent().map(Path::to_owned)).try_for_each(|parent| passes(&parent))?;
            let hash = Sha256::digest(place.join(directory.strip_prefix(first).unwrap_or(directory)).as_os_str().as_bytes());
            let at = u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]);
            let user = Self::Own(numbered(DIRECTORIES, |count| 1 + at % (count - 1))?);
            above.iter().try_for_each(|above| user.could_pass(above))?;
            Ok(user)
        };
        reached().unwrap_or_else(Self::Root)
    }

    /// Returns the group that the user of a directory has besides his own.
    pub(super) fn group(&self) -> Option<u32> {
        let Self::Own(number) = self else { return None };
        DIRECTORIES.iter().find(|(group, count)| (group + 1..group + count).contains(number)).map(|(group, _)| *group)
    }

    /// Whether a directory could be opened to the user of a directory below it without opening it to anybody else.
    fn could_pass(&self, above: &Path) -> Result<(), String> {
        let Ok(found) = fs::metadata(above) else { return Ok(()) };
        if self.may_pass(&found) || is_closed_to_its_group(&found) {
            return Ok(());
        }
        Err(format!("{} is open to a group", above.display()))
    }

    fn may_pass(&self, above: &Metadata) -> bool {
        above.mode() & PASS != 0 || above.mode() & OF_GROUP != 0 && Some(above.gid()) == self.group()
    }

    /// Lets the user of a directory pass through one above it, which stays closed to all but such users.
    pub fn let_pass(&self, above: &Path) -> io::Result<()> {
        let Some(group) = self.group() else { return Ok(()) };
        let found = fs::metadata(above)?;
        if self.may_pass(&found) {
            return Ok(());
        }
        if !is_closed_to_its_group(&found) {
            return Err(io::Error::other(format!("{} was opened to a group meanwhile; close it with: chmod g= {0}", above.display())));
        }
        match chown(above, None, Some(group)) {
            // If the file system has no groups, the directory stays as it is.
            Err(error) if knows_no_owners(&error) => Ok(()),
            given => given.and_then(|()| fs::set_permissions(above, Permissions::from_mode(found.mode() & 0o7777 | OF_GROUP))),
        }
    }

    /// Whether the group of the users of directories can pass through this directory, and has no other right in it.
    pub fn is_way(found: &Metadata) -> bool {
        found.is_dir() && found.mode() & 0o077 == OF_GROUP && DIRECTORIES.iter().any(|(group, _)| *group == found.gid())
    }
}

/// Whether a directory's group has no right in it: a user who may only pass cannot open the other files in a directory
/// of hero.
fn is_closed_to_its_group(found: &Metadata) -> bool {
    found.mode() & 0o060 == 0
}

/// Returns the real path of a directory, which need not exist if its parent does.
fn real(directory: &Path) -> io::Result<PathBuf> {
    match (directory.canonicalize(), directory.parent(), directory.file_name()) {
        (Err(error), Some(parent), Some(name)) if error.kind() == io::ErrorKind::NotFound => Ok(parent.canonicalize()?.join(name)),
        (real, ..) => real,
    }
}

#[cfg(test)]
mod tests {
    use super::super::user::ENGINES;
    use super::*;

    #[test]
    fn users_of_directories_have_a_group_and_those_of_engines_have_none() {
        for (group, count) in DIRECTORIES {
            assert_eq!(JobUser::Own(group).group(), None);
            assert_eq!(JobUser::Own(group + 1).group(), Some(group));
            assert_eq!(JobUser::Own(group + count - 1).group(), Some(group));
            assert_eq!(JobUser::Own(group + count).group(), None);
        }
        for (first, count) in ENGINES {
            assert!([first, first + count - 1].into_iter().all(|number| JobUser::Own(number).group().is_none()));
        }
    }
}
