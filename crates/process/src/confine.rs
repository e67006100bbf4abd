//! `hero exec PROFILE --parent PID … -- program args…`: gives up everything a child does not need, then becomes the
//! program.
//!
//! It is a program of its own, because the steps must be taken in the child between fork and exec, where a
//! multi-threaded program cannot run Rust code safely. Each step that the system does not offer is left out and
//! *reported*: the variable [`CONFINEMENT`] tells the program which steps are missing and why, and, behind a semicolon,
//! the steps in force, such as `weak: no landlock (the kernel does not have it);
//! process_group,umask,environment,descriptors,rlimits,no_new_privs,parent_death_signal,seccomp`.

mod call;
mod descriptors;
mod exec;
mod inside;
mod landlock;
mod namespaces;
mod profile;
mod request;
mod root;
mod seccomp;
mod steps;
mod user;
mod way;

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::Spawner;

pub use self::call::{Call, Kind, calls};
pub use self::landlock::{readable_by_engines, readable_by_jobs};
pub use descriptors::hand_over;
pub use exec::exec_main;
pub use profile::{JobRights, OF_JOB, Profile, RESULT, SupervisorRights};
pub use steps::left_out;
pub use user::JobUser;

/// The variable in which a confined program finds the steps in force.
pub const CONFINEMENT: &str = "HERO_CONFINED";

/// Timeout for a trial child.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the command that runs `program` confined by `profile`, as a child of this process. `hero` is this program.
///
/// The child is killed when its handle is dropped. Start it through a [`Spawner`]: it dies with the thread that spawned
/// it.
pub fn command(hero: &Path, profile: &Profile, program: &Path, args: &[impl AsRef<OsStr>]) -> tokio::process::Command {
    let mut command = tokio::process::Command::from(plain_command(hero, profile, program, args));
    command.kill_on_drop(true);
    command
}

/// Starts a trial child with this profile and returns its report of confinement.
pub async fn tried(spawner: &Spawner, hero: &Path, profile: &Profile) -> io::Result<String> {
    let mut command = command(hero, profile, hero, &["confinement"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let said = tokio::time::timeout(TRIAL_TIMEOUT, spawner.spawn(command).await?.wait_with_output()).await.map_err(io::Error::from)??;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if said.status.success() { Ok(text(&said.stdout)) } else { Err(io::Error::other(text(&said.stderr))) }
}

/// The same as [`command`] for a program that has no runtime and manages its children itself.
pub fn plain_command(hero: &Path, profile: &Profile, program: &Path, args: &[impl AsRef<OsStr>]) -> std::process::Command {
    let mut command = std::process::Command::new(hero);
    command.args(["exec", profile.word(), "--parent"]).arg(std::process::id().to_string());
    match profile {
        Profile::Engine { address_space } => {
            command.arg("--address-space").arg(address_space.to_string());
        }
        Profile::Redis { writable } => {
            for directory in writable {
                command.arg("--rw").arg(directory);
            }
        }
        Profile::Supervisor(rights) => {
            command.arg("--rw").arg(&rights.writable);
            command.args(profile::in_home(rights.home.as_ref())).args(rights.is_temporary.then_some("--temporary"));
            if let Some(group) = &rights.group {
                command.arg("--group").arg(group);
            }
            for path in &rights.readable {
                command.arg("--ro").arg(path);
            }
        }
        Profile::Job(rights) => {
            command.arg("--memory").arg(rights.memory.to_string()).arg("--rw").arg(&rights.writable);
            command.args(profile::in_home(rights.home.as_ref()));
            for path in &rights.readable {
                command.arg("--ro").arg(path);
            }
            command.arg("--user").arg(rights.user.to_string()).args(rights.confines_forks.then_some("--confines-forks"));
            if let Some(report) = std::env::var_os(CONFINEMENT) {
                command.arg("--inherited").arg(report);
            }
        }
    }
    command.arg("--").arg(program).args(args);
    command
}
