//! How a supervisor becomes the first process of a PID namespace that has a `/proc` and a root of its own.
//!
//! Only a child is born into a PID namespace, and the `/proc` of a namespace can only be mounted inside. So `hero exec
//! supervisor` starts `hero exec inside`, which becomes the supervisor, waits for it, and ends with the same status. If
//! it cannot have its own `/proc`, the child becomes a first process that only waits ([`init_main`](crate::init::init_main)),
//! and the process outside becomes the supervisor.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio, exit};
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use rustix::process::{Signal, getpid, kill_process, set_parent_process_death_signal};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout, stdout};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, configure_capability_in_ambient_set, set_capabilities,
};

use super::descriptors::{hand_over, received};
use super::namespaces::{MOUNTS, PROC, PROCESSES};
use super::profile::{SupervisorRights, in_home};
use super::request::Request;
use super::root::{self, Proc};
use super::steps::Steps;
use crate::OURSELVES;
use crate::init::init_main;

/// Everything inside ends with the process outside.
pub(super) const DEATH: Option<Signal> = Some(Signal::KILL);
/// The answer of the process inside once it is complete.
const READY: &str = "ready";
/// Timeout for this answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(8);

/// The first process of a namespace, seen from outside.
pub(super) struct Outside {
    pub(super) first: u32,
    /// The first process ends when this is closed. It stays open over an exec, and no job gets it.
    _held: OwnedFd,
}

/// Starts the supervisor inside, waits for it and ends with the same status. Returns only if that is not possible: then
/// this process becomes the supervisor. It gets the first process of its jobs' namespace, if they have one.
pub(super) fn start(request: &Request, rights: &SupervisorRights, steps: &mut Steps) -> Result<Option<Outside>, String> {
    if let Err(error) = unshare(CloneFlags::CLONE_NEWPID).map_err(io::Error::from) {
        steps.miss(PROCESSES, &error);
        without("there is no PID namespace", request, rights, steps);
        return Ok(None);
    }
    steps.done(PROCESSES);
    let failed = |error: io::Error| format!("the first process of the namespace cannot be started: {error}");
    let (child, outside) = child(request, rights, steps).map_err(failed)?;
    let Some((why, held)) = outside else { stay(child, rights) };
    without(&why, request, rights, steps);
    Ok(Some(Outside { first: child.id(), _held: held }))
}

/// Takes the steps that are possible without a `/proc` of its own.
fn without(why: &str, request: &Request, rights: &SupervisorRights, steps: &mut Steps) {
    let hides = root::hides_processes().map(|hides| format!("{hides} and another cannot be had: {why}"));
    steps.miss(PROC, &hides.as_deref().unwrap_or(why));
    steps.take(MOUNTS, root::enter(rights, &request.program, Proc::Same));
    keep_nothing_over_exec();
}

/// Starts the child. If it did not become the supervisor, also returns the reason and the descriptor that holds it.
fn child(request: &Request, rights: &SupervisorRights, steps: &Steps) -> io::Result<(Child, Option<(String, OwnedFd)>)> {
    keep_over_exec(CapabilitySet::SYS_ADMIN)?;
    let (ours, theirs) = UnixStream::pair()?;
    // The child first uses its standard output to answer.
    hand_over(ours.as_fd(), stdout())?;
    let mut command = Command::new(OURSELVES);
    command.args(inside(request, rights, &steps.report())).stdin(Stdio::inherit()).stdout(OwnedFd::from(theirs)).stderr(Stdio::inherit());
    let child = command.spawn()?;
    drop(command);
    ours.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let mut said = String::new();
    BufReader::new(&ours).read_line(&mut said).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::other(format!("it was not ready within {} s", ANSWER_TIMEOUT.as_secs())),
        _ => error,
    })?;
    match said.trim_end() {
        "" => Err(io::Error::other("it ended at once")),
        READY => Ok((child, None)),
        why => Ok((child, Some((why.to_owned(), rustix::io::dup(&ours)?)))),
    }
}

/// Returns the arguments that make the child the process inside.
fn inside(request: &Request, rights: &SupervisorRights, report: &str) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["exec", request.profile.word(), "--inside", "--inherited", report, "--parent"].map(Into::into).to_vec();
    args.extend([std::process::id().to_string().into(), "--rw".into(), rights.writable.clone().into_os_string()]);
    args.extend(in_home(rights.home.as_ref()).map(OsStr::to_owned));
    args.extend(rights.readable.iter().flat_map(|path| ["--ro".into(), path.clone().into_os_string()]));
    args.extend(["--".into(), request.program.clone().into_os_string()]);
    args.extend(request.args.iter().cloned());
    args
}

/// Makes these capabilities of a user who is not root survive an exec. Those of root do so anyway.
fn keep_over_exec(kept: CapabilitySet) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let sets = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: kept & sets.permitted, ..sets })?;
    // A missing capability cannot be kept. Then the child reports it.
    let _ = configure_capability_in_ambient_set(kept, true);
    Ok(())
}

fn keep_nothing_over_exec() {
    let _ = clear_ambient_capability_set();
    let _ = capabilities(None).and_then(|sets| set_capabilities(None, CapabilitySets { inheritable: CapabilitySet::empty(), ..sets }));
}

/// Waits for the supervisor and ends with the same status. Closes all descriptors here, so that nobody waits for their
/// end.
fn stay(mut supervisor: Child, rights: &SupervisorRights) -> ! {
    let nothing =
        CapabilitySets { effective: CapabilitySet::empty(), permitted: CapabilitySet::empty(), inheritable: CapabilitySet::empty() };
    if let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        let _ = (dup2_stdin(&null), dup2_stdout(&null), dup2_stderr(&null));
    }
    let (_, _) = (clear_ambient_capability_set(), set_capabilities(None, nothing));
    let ended = supervisor.wait().unwrap_or_else(|_| ExitStatus::from_raw(1 << 8));
    if rights.is_temporary {
        // The process inside cannot remove it. The worker does that, if it still runs, and the directory may not be
        // empty.
        let _ = std::fs::remove_dir(&rights.writable);
    }
    if let Some(signal) = ended.signal().and_then(Signal::from_named_raw) {
        let _ = kill_process(getpid(), signal);
    }
    exit(ended.code().unwrap_or(1));
}

/// The part of the child: makes the root. If that fails, it only becomes the first process of the namespace, and this
/// does not return.
pub(super) fn enter(rights: &SupervisorRights, program: &Path, steps: &mut Steps) -> Result<(), String> {
    let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    set_parent_process_death_signal(DEATH).map_err(|error| format!("no end with its parent: {error}"))?;
    let answers = stdout().try_clone_to_owned().map(UnixStream::from).map_err(failed("descriptor 1"))?;
    let stdout = received(&answers).map_err(failed("no standard output"))?;
    let entered = root::enter(rights, program, Proc::Own);
    keep_nothing_over_exec();
    if let Err(error) = entered {
        let _ = writeln!(&answers, "{}", error.to_string().replace('\n', " "));
        let _ = dup2_stdin(&answers);
        drop((answers, stdout));
        let _ = std::fs::File::options().write(true).open("/dev/null").map(|null| (dup2_stdout(&null), dup2_stderr(&null)));
        let _ = init_main();
        exit(1);
    }
    steps.done(MOUNTS);
    steps.done(PROC);
    writeln!(&answers, "{READY}").map_err(failed("nobody listens"))?;
    dup2_stdout(stdout).map_err(|error| format!("descriptor 1: {error}"))
}
