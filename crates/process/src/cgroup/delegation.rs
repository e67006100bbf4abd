//! Finds the directory for groups of this process in the files of `/proc`.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::getxattr;
use rustix::process::geteuid;

use crate::mounts::Mount;

/// The name of the group of the server itself. A systemd unit may set it (`DelegateSubgroup`).
pub(super) const SERVER: &str = "hero-server";
/// The file that kills everything in a group. The root group does not have it, nor do kernels before 5.14.
pub(super) const KILL: &str = "cgroup.kill";
/// The attributes with which systemd marks delegated groups. Only root reads the first one.
const DELEGATED: [&str; 2] = ["trusted.delegate", "user.delegate"];

/// A subtree that was delegated to this process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Delegation {
    /// Its inner node.
    pub(super) base: PathBuf,
    /// Whether this process is in the group of the server already.
    pub(super) is_inside: bool,
}

/// Finds the subtree, or returns the reason why there is none.
pub(super) fn find() -> Result<Delegation, String> {
    let read = |file: &str| fs::read(file).map_err(|error| format!("{file} cannot be read: {error}"));
    let own = own(&String::from_utf8_lossy(&read("/proc/self/cgroup")?))?;
    let (directory, top) = directory(&own, &read("/proc/self/mountinfo")?)?;
    if !directory.join("cgroup.events").exists() {
        return Err("the group of this process is the root of all groups".to_owned());
    }
    let is_inside = directory != top && directory.file_name().is_some_and(|name| name == SERVER);
    let base = if is_inside { directory.parent().unwrap_or(&directory).to_owned() } else { directory.clone() };
    // A user who is not root can only use his own groups, and a namespace is delegated as a whole.
    if geteuid().is_root() && base != top && !DELEGATED.iter().any(|name| is_marked(&base, name)) {
        return Err(format!("{} was not delegated", base.display()));
    }
    if !base.join(KILL).exists() {
        return Err("the groups of this system cannot be ended as a whole: that needs Linux 5.14".to_owned());
    }
    if !is_inside {
        let processes =
            fs::read_to_string(base.join("cgroup.procs")).map_err(|error| format!("{} cannot be read: {error}", base.display()))?;
        if processes.split_whitespace().any(|process| process != std::process::id().to_string()) {
            return Err(format!("other processes are in {}", base.display()));
        }
    }
    Ok(Delegation { base, is_inside })
}

/// Returns the group of this process, from its list of groups.
fn own(groups: &str) -> Result<PathBuf, String> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::")).ok_or("there are no groups of version 2")?;
    if own.split('/').any(|name| name == "..") || own.ends_with(" (deleted)") {
        return Err("the group of this process is outside of what can be seen".to_owned());
    }
    Ok(PathBuf::from(own))
}

/// Returns the directory of a group and the topmost visible directory.
fn directory(own: &Path, mounts: &[u8]) -> Result<(PathBuf, PathBuf), String> {
    let mut mounts = Mount::all(mounts).filter(|mount| mount.kind == b"cgroup2");
    let found = mounts.find_map(|mount| {
        let below = own.strip_prefix(&mount.root).ok()?;
        // A path joined with nothing would end with a slash.
        let directory = if below.as_os_str().is_empty() { mount.place.clone() } else { mount.place.join(below) };
        Some((directory, mount.place))
    });
    found.ok_or_else(|| "no groups of version 2 are mounted where this process would find its own".to_owned())
}

/// Whether a directory is marked by an attribute.
fn is_marked(directory: &Path, name: &str) -> bool {
    let mut value = [0; 8];
    getxattr(directory, name, &mut value).is_ok_and(|length| value[..length] == *b"1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_a_process_is_found_where_it_is_mounted() {
        let mounts = b"30 24 0:26 / /sys/fs/cgroup rw shared:4 - tmpfs tmpfs rw\n\
            31 30 0:27 / /sys/fs/cgroup/a\\040b rw,nosuid shared:5 - cgroup2 cgroup2 rw\n";
        let own = |groups| own(groups).unwrap();
        assert_eq!(own("4:memory:/x\n0::/system.slice/hero.service\n"), Path::new("/system.slice/hero.service"));
        assert_eq!(directory(&own("0::/s/hero\n"), mounts), Ok(("/sys/fs/cgroup/a b/s/hero".into(), "/sys/fs/cgroup/a b".into())));
        assert_eq!(directory(&own("0::/\n"), mounts), Ok(("/sys/fs/cgroup/a b".into(), "/sys/fs/cgroup/a b".into())));
        // A container may only see its own part.
        let part = b"31 30 0:27 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
        assert_eq!(directory(Path::new("/docker/x/y"), part), Ok(("/sys/fs/cgroup/y".into(), "/sys/fs/cgroup".into())));
        assert!(directory(Path::new("/other"), part).is_err() && directory(Path::new("/x"), b"").is_err());
    }

    #[test]
    fn what_has_no_group_to_be_seen_says_why() {
        for (groups, why) in [("4:memory:/x\n", "version 2"), ("0::/../x\n", "outside"), ("0::/x (deleted)\n", "outside")] {
            assert!(super::own(groups).unwrap_err().contains(why), "{groups}");
        }
    }
}
