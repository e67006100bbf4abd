//! The steps themselves. The process that becomes the program takes them.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{
    Pid, Resource, Rlimit, geteuid, getppid, getrlimit, set_parent_process_death_signal, setpgid, setrlimit, setsid, umask,
};
use rustix::thread::set_no_new_privs;

use super::inside::{self, Outside};
use super::namespaces::USER;
use super::profile::{HOST_CALLS, Profile, RESULT};
use super::request::Request;
use super::steps::Steps;
use super::user::{self, JobUser, OUTSIDE};
use super::{CONFINEMENT, descriptors, landlock, namespaces, seccomp};
use crate::cgroup;
use crate::init::FIRST;

/// The exit code when confinement or exec failed, as in `env` and `nohup`.
const FAILED: u8 = 125;
/// Added to the score by which the system chooses a process to kill when memory runs out, at most 1000.
const ENDED_SOONER: &str = "500";

/// The body of the hidden `hero exec`: `args` are what follows the word `exec`. Returns only when it failed.
#[expect(clippy::disallowed_macros, reason = "a child says why it failed to its parent, which shows it harmless")]
pub fn exec_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let failure = match Request::parse(args) {
        Ok(request) => exec(&request),
        Err(usage) => usage,
    };
    eprintln!("hero exec: {failure}");
    ExitCode::from(FAILED)
}

/// Takes the steps and becomes the program. Returns only if that fails, with the error.
fn exec(request: &Request) -> String {
    let profile = &request.profile;
    let of_job = matches!(profile, Profile::Job(_));
    let mut steps = Steps::new(of_job);
    // The process of a job runs in its own session, without the terminal from which hero may have been started.
    steps.take("process_group", if of_job { setsid().map(drop) } else { setpgid(None, None) });
    umask(Mode::RWXG | Mode::RWXO);
    steps.done("umask");
    let (user, path) = (user_of(request), opened(request));
    let mut command = Command::new(path.as_ref().map_or(&request.program, |(path, _)| path));
    command.arg0(&request.program).args(&request.args).env_clear().envs(profile.environment());
    steps.done("environment");
    // Descriptors that hero opened are closed at exec anyway. A shell, make or a service manager may have left others
    // open.
    close_fds::set_fds_cloexec(3, &[]);
    steps.done("descriptors");
    let given = if of_job { descriptors::take_over() } else { Ok(None) };
    match &given {
        Ok(Some(given)) => {
            command.env(RESULT, given.result.as_raw_fd().to_string()).stdin(Stdio::null());
            command.envs(given.host_calls.as_ref().map(|host_calls| (HOST_CALLS, host_calls.as_raw_fd().to_string())));
        }
        Ok(None) => {}
        Err(error) => return format!("no descriptor for the result: {error}"),
    }
    if of_job {
        // So the system kills a job before its supervisor, which must still end the rest of the job.
        let _ = std::fs::write("/proc/self/oom_score_adj", ENDED_SOONER);
    }

    if let Profile::Supervisor(rights) = profile
        && !request.is_inside
    {
        // Later the group is out of reach. Everything started later is in it, too.
        match cgroup::join(rights.group.as_deref()) {
            Ok(joined) => joined.into_iter().for_each(|step| steps.done(step)),
            Err(error) => steps.miss(cgroup::GROUP, &error),
        }
    }
    steps.take("rlimits", profile.limits().into_iter().try_for_each(|(resource, most)| lower(resource, most)));
    // Later the permission is gone, or the calls are refused.
    let outside = match enter_namespaces(request, &mut steps) {
        Ok(outside) => outside,
        Err(why) => return why,
    };
    command.envs(request.is_inside.then(|| (OUTSIDE, request.parent.to_string())));
    command.envs(outside.as_ref().map(|outside| (FIRST, outside.first.to_string())));
    steps.take("no_new_privs", set_no_new_privs(true));
    if !matches!(profile, Profile::Supervisor(_)) {
        restrict_files(request, &mut steps);
    }
    match user {
        Some(Ok(number)) => steps.take("setuid", user::become_user(number)),
        Some(Err(why)) => steps.miss("setuid", &why),
        None => {}
    }
    if geteuid().is_root() {
        steps.take("capabilities", user::give_up_capabilities(profile.capabilities()));
    }
    // A change of the user clears the signal.
    let signal = if request.is_inside { inside::DEATH } else { profile.death_signal() };
    steps.take("parent_death_signal", set_parent_process_death_signal(signal));
    // If the parent died before the signal was set, it is never sent. A parent outside of the PID namespace has no
    // process id in it, but the namespace ends with it.
    if let parent @ Some(_) = getppid()
        && parent != Pid::from_raw(request.parent)
    {
        return format!("the parent {} is gone", request.parent);
    }
    steps.take("seccomp", seccomp::restrict(profile));
    limit_processes(profile, &mut steps);

    command.env(CONFINEMENT, steps.report());
    let error = command.exec();
    format!("{} can't be run: {error}", request.program.display())
}

/// Enters namespaces. A supervisor with complete namespaces continues as their first process, and in the process
/// outside this does not return.
fn enter_namespaces(request: &Request, steps: &mut Steps) -> Result<Option<Outside>, String> {
    let inherited = request.inherited.as_deref();
    match &request.profile {
        Profile::Supervisor(rights) if request.is_inside => {
            namespaces::inherit(inherited.unwrap_or_default(), steps);
            inside::enter(rights, &request.program, steps).map(|()| None)
        }
        Profile::Supervisor(rights) => {
            namespaces::enter(&request.profile, inherited, steps);
            inside::start(request, rights, steps)
        }
        _ => {
            namespaces::enter(&request.profile, inherited, steps);
            Ok(None)
        }
    }
}

/// Returns the user to become, if the child is to become another one, or the reason why it cannot.
fn user_of(request: &Request) -> Option<Result<u32, String>> {
    match &request.profile {
        Profile::Engine { .. } => geteuid().is_root().then(|| user::runs(&request.program).and_then(|()| user::number())),
        Profile::Job(rights) => match &rights.user {
            JobUser::Same => geteuid().is_root().then(|| Err("its supervisor named no user".to_owned())),
            JobUser::Own(number) => Some(Ok(*number)),
            JobUser::Root(why) => Some(Err(why.clone())),
        },
        // The files of Redis belong to hero's user, and a supervisor starts jobs of other users.
        Profile::Redis { .. } | Profile::Supervisor(_) => None,
    }
}

/// Returns an engine's program under a name that also works for a user who cannot pass through the directories above
/// it.
fn opened(request: &Request) -> Option<(PathBuf, OwnedFd)> {
    let closed = matches!(request.profile, Profile::Engine { .. }) && geteuid().is_root() && user::reaches(&request.program).is_err();
    let file = closed.then(|| openat(CWD, &request.program, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()))?.ok()?;
    Some((PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())), file))
}

/// Restricts the files to open, and the sockets and processes to reach.
fn restrict_files(request: &Request, steps: &mut Steps) {
    match landlock::restrict(&request.profile, &request.program) {
        Ok(abi) => {
            steps.done(format!("landlock:{abi}"));
            for (name, since, kernel) in [("truncate rules", 3, "6.2"), ("TCP rules", 4, "6.7"), ("signal rules", 6, "6.12")] {
                if abi < since {
                    steps.miss(name, &format!("they need Linux {kernel}"));
                }
            }
        }
        Err(why) => steps.miss("landlock", &why),
    }
}

/// Limits processes and threads. The system counts those of a user, in a user namespace only those in it, and never
/// those of root.
fn limit_processes(profile: &Profile, steps: &mut Steps) {
    const NAME: &str = "process limit";
    match profile.most_tasks() {
        Some(most) if steps.has("setuid") || steps.has(USER) => steps.take(NAME, lower(Resource::Nproc, most)),
        // It may have no other process anyway.
        Some(_) if matches!(profile, Profile::Engine { .. }) && steps.has("seccomp") => steps.done(NAME),
        Some(_) if geteuid().is_root() => steps.miss(NAME, &"root has none"),
        Some(_) => steps.miss(NAME, &"other processes of its user would be counted"),
        None => {}
    }
}

/// Lowers a limit to `most`. A lower limit stays.
fn lower(resource: Resource, most: u64) -> rustix::io::Result<()> {
    let most = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
}
