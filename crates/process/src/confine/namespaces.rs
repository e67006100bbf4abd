//! Namespaces: a child sees networks, processes and so on of its own.

use std::fs;

use nix::sched::{CloneFlags, unshare};
use rustix::process::{getegid, geteuid};

use super::Profile;
use super::steps::Steps;
use crate::cgroup;

/// Suffix of the names of these steps.
pub(super) const NAMESPACE: &str = " namespace";
/// A user who is not root makes the other namespaces in it.
pub(super) const USER: &str = "user namespace";
/// When its first process ends, all others in it end, too.
pub(super) const PROCESSES: &str = "PID namespace";

const NETWORK: (&str, CloneFlags) = ("network namespace", CloneFlags::CLONE_NEWNET);
const IPC: (&str, CloneFlags) = ("IPC namespace", CloneFlags::CLONE_NEWIPC);
/// Only the needed part of the file system is visible in it.
pub(super) const MOUNTS: &str = "mount namespace";
/// A `/proc` of the PID namespace.
pub(super) const PROC: &str = "own /proc";

/// Enters namespaces of its own, except those into which children of a [supervisor](super::inside) are born. The
/// processes of jobs are born into those of their supervisor, so that a job makes none: `inherited` is the supervisor's
/// report. An engine starts no processes.
pub(super) fn enter(profile: &Profile, inherited: Option<&str>, steps: &mut Steps) {
    let own: &[(&str, CloneFlags)] = match profile {
        Profile::Engine { .. } | Profile::Redis { .. } | Profile::Supervisor(_) => &[NETWORK, IPC],
        Profile::Job(_) => {
            match inherited {
                Some(report) => inherit(report, steps),
                None => [NETWORK.0, IPC.0, PROCESSES, MOUNTS, PROC].iter().for_each(|name| steps.miss(name, &"its supervisor has none")),
            }
            return;
        }
    };
    if !geteuid().is_root() {
        steps.take(USER, own_users());
    }
    for (name, flag) in own {
        steps.take(name, unshare(*flag).map_err(std::io::Error::from));
    }
}

/// Takes over the namespaces that the parent has entered.
pub(super) fn inherit(report: &str, steps: &mut Steps) {
    steps.inherit(report, |step| step.ends_with(NAMESPACE) || step == PROC || cgroup::is_step(step));
}

/// Enters a user namespace that contains only this user.
fn own_users() -> std::io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}
