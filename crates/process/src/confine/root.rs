//! The root of a supervisor and its jobs: the part of the file system that they see.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Component, Path, PathBuf};

use nix::sched::{CloneFlags, unshare};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change, mount_remount, unmount};
use rustix::process::{chdir, pivot_root, umask};

use super::landlock;
use super::profile::SupervisorRights;
use crate::mounts::Mount;

/// The directory in which the root is built. The mount hides its content, but only from this process, which has opened
/// everything before. No directory above it is mounted as a whole, or the new root would contain itself.
const SITE: &str = "/dev";
/// Room for the names of mounts, and nothing else: nobody can write to it.
const SIZE: &std::ffi::CStr = c"size=1m,nr_inodes=4096,mode=755";
/// The maximum number of links in a path.
const MOST_LINKS: usize = 40;
/// Links by which programs open their own descriptors.
const DESCRIPTORS: [(&str, &str); 4] =
    [("dev/fd", "/proc/self/fd"), ("dev/stdin", "/proc/self/fd/0"), ("dev/stdout", "/proc/self/fd/1"), ("dev/stderr", "/proc/self/fd/2")];

/// The processes visible in `/proc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proc {
    /// Those of the PID namespace of this process.
    Own,
    /// Those visible before.
    Same,
}

/// Makes a root for this process and everything that it starts. Read-only are the system's programs, libraries and
/// configuration, as far as jobs may read them, and the program. Writable are the directory of the supervisor and the
/// home of its job. There are also some devices and `/proc`, and nothing else.
pub(super) fn enter(rights: &SupervisorRights, program: &Path, proc: Proc) -> io::Result<()> {
    let working = std::env::current_dir()?;
    unshare(CloneFlags::CLONE_NEWNS)?;
    // Mounts made here are not visible elsewhere.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    // Files opened before belong to another namespace, and cannot be mounted in this one.
    let written = rights.written().map(|path| path.canonicalize()).collect::<io::Result<Vec<_>>>()?;
    let plan = Plan::of(rights, &written, program)?;
    let bound_proc = (proc == Proc::Same).then(|| open(Path::new("/proc"))).transpose()?;
    mount("tmpfs", SITE, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, SIZE)?;
    // So jobs of any user can pass through the directories.
    let mask = umask(Mode::WGRP | Mode::WOTH);
    let filled = fill(&plan, bound_proc.as_ref());
    umask(mask);
    if let Err(error) = filled {
        // Everything is as it was before.
        chdir("/")?;
        unmount(SITE, UnmountFlags::DETACH)?;
        chdir(&working)?;
        return Err(error);
    }
    // The old root covers the new one.
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    close_to_writes(&written)?;
    chdir(&working)?;
    Ok(())
}

/// Builds the root and switches to it.
fn fill(plan: &Plan, bound_proc: Option<&OwnedFd>) -> io::Result<()> {
    chdir(SITE)?;
    // If this fails, there is no point in the rest.
    make_directory(Path::new("proc"))?;
    match bound_proc {
        Some(of_before) => bind(of_before, Path::new("proc"))?,
        None => mount("proc", "proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)?,
    }
    plan.lay_out()?;
    Ok(pivot_root(".", ".")?)
}

/// The content of the root.
#[derive(Debug, Default)]
struct Plan {
    /// Files, and directories with everything in them.
    bound: BTreeMap<PathBuf, OwnedFd>,
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Plan {
    fn of(rights: &SupervisorRights, written: &[PathBuf], program: &Path) -> io::Result<Self> {
        let mut plan = Self::default();
        let (mut real, mut links) = (BTreeSet::new(), BTreeMap::new());
        let of_system = landlock::readable_by_jobs().chain(landlock::devices()).filter(|path| !path.starts_with("/proc"));
        let wanted = of_system.chain(rights.readable.iter().cloned()).chain([program.to_owned()]).chain(rights.written().cloned());
        // A missing path is not needed: which of them exist depends on the distribution.
        real.extend(wanted.filter_map(|path| resolve(&path, &mut links)));
        for path in real {
            // A path below another one is already there. But a writable path may be below a read-only one.
            if path == Path::new("/") || plan.has(&path) && !written.contains(&path) {
                continue;
            }
            let opened = open(&path)?;
            plan.bound.insert(path, opened);
        }
        links.retain(|link, _| !plan.has(link));
        plan.links = links;
        Ok(plan)
    }

    fn has(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.bound.contains_key(above))
    }

    /// Makes the content in the current directory. A path comes after those above it.
    fn lay_out(&self) -> io::Result<()> {
        for (path, opened) in &self.bound {
            let target = path.strip_prefix("/").unwrap_or(path);
            if !target.exists() {
                target.parent().map_or(Ok(()), make_directory)?;
                match fs::metadata(of_descriptor(opened))?.is_dir() {
                    true => make_directory(target)?,
                    false => File::create(target).map(drop)?,
                }
            }
            bind(opened, target)?;
        }
        let of_descriptors = DESCRIPTORS.map(|(link, target)| (Path::new(link), Path::new(target)));
        let links = self.links.iter().map(|(link, target)| (link.strip_prefix("/").unwrap_or(link), &**target));
        for (link, target) in links.chain(of_descriptors) {
            link.parent().map_or(Ok(()), make_directory)?;
            symlink(target, link)?;
        }
        // Programs expect it. It is empty, unless the directory of the supervisor is in it.
        make_directory(Path::new("tmp"))
    }
}

/// Returns the target of a path and notes the links on the way. `None` if it leads nowhere.
fn resolve(path: &Path, links: &mut BTreeMap<PathBuf, PathBuf>) -> Option<PathBuf> {
    let mut real = PathBuf::from("/");
    let names = |path: &Path| -> Vec<OsString> {
        let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
        names.map(|part| part.as_os_str().to_owned()).collect()
    };
    let (mut rest, mut found) = (VecDeque::from(names(path)), 0);
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        match fs::read_link(&next) {
            Ok(target) => {
                found += 1;
                if found > MOST_LINKS {
                    return None;
                }
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                names(&target).into_iter().rev().for_each(|name| rest.push_front(name));
                links.insert(next, target);
            }
            Err(_) => real = next,
        }
    }
    real.symlink_metadata().is_ok().then_some(real)
}

fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// Opens a file or directory as a path only.
fn open(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

fn of_descriptor(opened: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()))
}

/// Binds recursively: if the owner may not look below a mount, the system allows nothing else.
fn bind(opened: &OwnedFd, target: &Path) -> io::Result<()> {
    Ok(mount_bind_recursive(of_descriptor(opened), target)?)
}

/// Makes all mounts read-only, except writable paths with the mounts in them, and `/proc`, where processes have files
/// of their own.
fn close_to_writes(written: &[PathBuf]) -> io::Result<()> {
    let list = fs::read("/proc/self/mountinfo")?;
    let mounts: Vec<Mount> = Mount::all(&list).collect();
    for Mount { place, flags, .. } in mounts {
        if place.starts_with("/proc") {
            continue;
        }
        let is_writable = written.iter().any(|written| place.starts_with(written));
        // A user with the right to write to a device can do so on any mount.
        let devices = if place.starts_with("/dev") { MountFlags::NOEXEC } else { MountFlags::NODEV };
        let flags = flags | MountFlags::NOSUID | devices | if is_writable { MountFlags::empty() } else { MountFlags::RDONLY };
        match mount_remount(&place, flags | MountFlags::BIND, "") {
            // A mount covered by another one is out of reach.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => {}
            done => done?,
        }
    }
    Ok(())
}

/// Returns which processes below this one the mounted `/proc` hides, if any.
pub(super) fn hides_processes() -> Option<&'static str> {
    let list = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let hides = list.split(|byte| *byte == b'\n').any(|line| {
        let mut fields = line.split(|byte| *byte == b' ');
        let is_proc = fields.nth(4) == Some(b"/proc");
        let options = fields.next_back().unwrap_or_default();
        is_proc
            && options
                .split(|byte| *byte == b',')
                .any(|option| option.starts_with(b"hidepid=") && option != b"hidepid=0" && option != b"hidepid=off")
    });
    hides.then_some("by hidepid that of the system hides programs that nobody may read: they are found when their namespace ends")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_followed_and_the_links_on_its_way_are_noted() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("a/b")).unwrap();
        fs::write(home.join("a/b/file"), "x").unwrap();
        symlink("../a/b", home.join("a/relative")).unwrap();
        symlink(home.join("a"), home.join("absolute")).unwrap();
        symlink("round", home.join("round")).unwrap();
        let mut links = BTreeMap::new();
        assert_eq!(resolve(&home.join("absolute/relative/file"), &mut links), Some(home.join("a/b/file")));
        assert_eq!(
            links.into_iter().collect::<Vec<_>>(),
            [(home.join("a/relative"), "../a/b".into()), (home.join("absolute"), home.join("a")),]
        );
        assert_eq!(resolve(&home.join("round"), &mut BTreeMap::new()), None);
        assert_eq!(resolve(&home.join("a/nothing"), &mut BTreeMap::new()), None);
        assert_eq!(resolve(Path::new("/"), &mut BTreeMap::new()), Some("/".into()));
    }
}
