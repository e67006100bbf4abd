//! A root of its own: what a supervisor and its jobs see of the files of the system.

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

/// Where the root is put together. It covers what is there, but only for this process, which has opened all before. Nothing that it lies in
/// is mounted as a whole, or the new root would be in itself.
const SITE: &str = "/dev";
/// Room for the names of what is mounted, and nothing else: it can be written to by nobody.
const SIZE: &std::ffi::CStr = c"size=1m,nr_inodes=4096,mode=755";
/// How many links may lead to each other.
const MOST_LINKS: usize = 40;
/// What programs take for files of their own descriptors.
const DESCRIPTORS: [(&str, &str); 4] =
    [("dev/fd", "/proc/self/fd"), ("dev/stdin", "/proc/self/fd/0"), ("dev/stdout", "/proc/self/fd/1"), ("dev/stderr", "/proc/self/fd/2")];

/// Which processes can be seen in `/proc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proc {
    /// Those of the PID namespace that this process is in.
    Own,
    /// The same as before.
    Same,
}

/// Makes a root for this process and what it starts: the system's programs, libraries and configuration, as jobs may read them, and the
/// program, to be read only; the directory of the supervisor and the home of its job, to be written to; some devices; and `/proc`. Nothing else is there by any name.
pub(super) fn enter(rights: &SupervisorRights, program: &Path, proc: Proc) -> io::Result<()> {
    let working = std::env::current_dir()?;
    unshare(CloneFlags::CLONE_NEWNS)?;
    // Nothing that is mounted here is seen elsewhere.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    // What was opened before is of another namespace, and cannot be mounted in this one.
    let written = rights.written().map(|path| path.canonicalize()).collect::<io::Result<Vec<_>>>()?;
    let plan = Plan::of(rights, &written, program)?;
    let bound_proc = (proc == Proc::Same).then(|| open(Path::new("/proc"))).transpose()?;
    mount("tmpfs", SITE, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, SIZE)?;
    // Whoever its jobs are, they pass through the directories.
    let mask = umask(Mode::WGRP | Mode::WOTH);
    let filled = fill(&plan, bound_proc.as_ref());
    umask(mask);
    if let Err(error) = filled {
        // All is as it was before.
        chdir("/")?;
        unmount(SITE, UnmountFlags::DETACH)?;
        chdir(&working)?;
        return Err(error);
    }
    // The old root lies over the new one.
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    close_to_writes(&written)?;
    chdir(&working)?;
    Ok(())
}

/// Puts together what is to be the root, and makes it that.
fn fill(plan: &Plan, bound_proc: Option<&OwnedFd>) -> io::Result<()> {
    chdir(SITE)?;
    // Where this cannot be done nothing else is worth it.
    make_directory(Path::new("proc"))?;
    match bound_proc {
        Some(of_before) => bind(of_before, Path::new("proc"))?,
        None => mount("proc", "proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)?,
    }
    plan.lay_out()?;
    Ok(pivot_root(".", ".")?)
}

/// What is to be found where.
#[derive(Debug, Default)]
struct Plan {
    /// Files and directories with all that is in them.
    bound: BTreeMap<PathBuf, OwnedFd>,
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Plan {
    fn of(rights: &SupervisorRights, written: &[PathBuf], program: &Path) -> io::Result<Self> {
        let mut plan = Self::default();
        let (mut real, mut links) = (BTreeSet::new(), BTreeMap::new());
        let of_system = landlock::readable_by_jobs().chain(landlock::devices()).filter(|path| !path.starts_with("/proc"));
        let wanted = of_system.chain(rights.readable.iter().cloned()).chain([program.to_owned()]).chain(rights.written().cloned());
        // What is not there is not needed: which of them are there depends on the distribution.
        real.extend(wanted.filter_map(|path| resolve(&path, &mut links)));
        for path in real {
            // It is there with what it lies in. What is to be written to may lie in what is only to be read.
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

    /// Makes all of it in the current directory. What lies in others comes after these.
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
        // Programs expect it. It is empty, but for the directory of the supervisor where that is in it.
        make_directory(Path::new("tmp"))
    }
}

/// Where a path leads to. Notes the links on the way. Nothing if it leads nowhere.
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

/// Opens a file or directory as a place only.
fn open(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

fn of_descriptor(opened: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()))
}

/// With what is mounted in it: where its owner may not see below a mount, the system gives it so only.
fn bind(opened: &OwnedFd, target: &Path) -> io::Result<()> {
    Ok(mount_bind_recursive(of_descriptor(opened), target)?)
}

/// Has nobody write to what is mounted, but to what is to be written to and what is mounted in it, and to processes' own files in `/proc`.
fn close_to_writes(written: &[PathBuf]) -> io::Result<()> {
    let list = fs::read("/proc/self/mountinfo")?;
    let mounts: Vec<Mount> = Mount::all(&list).collect();
    for Mount { place, flags, .. } in mounts {
        if place.starts_with("/proc") {
            continue;
        }
        let is_writable = written.iter().any(|written| place.starts_with(written));
        // Whoever may write to a device does so wherever it is mounted.
        let devices = if place.starts_with("/dev") { MountFlags::NOEXEC } else { MountFlags::NODEV };
        let flags = flags | MountFlags::NOSUID | devices | if is_writable { MountFlags::empty() } else { MountFlags::RDONLY };
        match mount_remount(&place, flags | MountFlags::BIND, "") {
            // One that something else is mounted over is not reached.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => {}
            done => done?,
        }
    }
    Ok(())
}

/// What the `/proc` that is there does not show of the processes below this one, if it does not show all.
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
