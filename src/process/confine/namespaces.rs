//! Namespaces: the networks, processes and so on that a child sees are its own.

use std::fs;

use nix::sched::{CloneFlags, unshare};
use rustix::process::{getegid, geteuid};

use super::Profile;
use super::steps::Steps;

/// What the names of these steps end with.
pub(super) const NAMESPACE: &str = " namespace";
/// In which a user who is not root may make the others.
pub(super) const USER: &str = "user namespace";
/// In which its first process takes all others with it when it ends.
pub(super) const PROCESSES: &str = "PID namespace";

const NETWORK: (&str, CloneFlags) = ("network namespace", CloneFlags::CLONE_NEWNET);
const IPC: (&str, CloneFlags) = ("IPC namespace", CloneFlags::CLONE_NEWIPC);
const PID: (&str, CloneFlags) = (PROCESSES, CloneFlags::CLONE_NEWPID);

/// Enters namespaces of its own. The processes of jobs are born into those of their supervisor, so that a job costs none:
/// `inherited` is the report of that one. An engine starts no processes.
pub(super) fn enter(profile: &Profile, inherited: Option<&str>, steps: &mut Steps) {
    let own: &[(&str, CloneFlags)] = match profile {
        Profile::Engine { .. } | Profile::Redis { .. } => &[NETWORK, IPC],
        Profile::Supervisor => &[NETWORK, IPC, PID],
        Profile::Job(_) => {
            match inherited {
                Some(report) => steps.inherit(report, |step| step.ends_with(NAMESPACE)),
                None => [NETWORK, IPC, PID].iter().for_each(|(name, _)| steps.miss(name, &"its supervisor has none")),
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

/// Enters a user namespace in which there is nobody but this user.
fn own_users() -> std::io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}
