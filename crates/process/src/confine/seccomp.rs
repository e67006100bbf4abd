//! The system calls that a confined process may not make: those that are not on its list ([`call`]), and some with
//! certain arguments.
//!
//! A call refused for its arguments fails with EPERM, as for a missing permission, so programs that only try continue.
//! A supervisor runs no script and has no list: it may make all calls but a few. docs/confinement.md lists calls that
//! use resources of the machine.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use super::call::{self, Kind};
use super::{JobUser, Profile};

/// Calls that a supervisor does not need: to look into other processes, to change the system, and those through which
/// most faults of the kernel are reached.
const NEVER: &[c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// Calls that change modes, owners, times and other attributes of files, which landlock does not check, and calls that
/// list the names in a directory that may not be read. A process with hero's user could use them on hero's own files.
/// Newer calls have the same number everywhere.
const ATTRIBUTES: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    FILE_SETATTR,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    REMOVEXATTRAT,
    libc::SYS_setxattr,
    SETXATTRAT,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
];
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const FILE_SETATTR: c_long = 469;

/// The flags that make a namespace for a new process.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// What `setpriority` and `ioprio_set` call a process, as opposed to a group or a user.
const PRIO_PROCESS: u64 = 0;
const IOPRIO_WHO_PROCESS: u64 = 1;

/// The bits of a socket's type that are not flags.
const SOCKET_TYPE: u64 = 0xf;

/// The refused calls: always, or when one of the rules of the call holds.
#[derive(Default)]
struct Refused(BTreeMap<c_long, Vec<SeccompRule>>);

impl Refused {
    fn always(&mut self, calls: &[c_long]) {
        self.0.extend(calls.iter().map(|call| (*call, Vec::new())));
    }

    /// Refuses a call when all of these conditions hold for its arguments, which are counted from 0.
    fn when(&mut self, call: c_long, conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<(), String> {
        let conditions = conditions.iter().map(|(argument, compared, value)| {
            // The kernel only reads this part of these arguments.
            let is_long = [libc::SYS_clone, libc::SYS_utimensat].contains(&call);
            let length = if is_long { SeccompCmpArgLen::Qword } else { SeccompCmpArgLen::Dword };
            SeccompCondition::new(*argument, length, compared.clone(), *value).map_err(|error| error.to_string())
        });
        let rule = SeccompRule::new(conditions.collect::<Result<_, _>>()?).map_err(|error| error.to_string())?;
        self.0.entry(call).or_default().push(rule);
        Ok(())
    }

    /// Makes these calls fail with this error from now on.
    fn apply(self, error: i32) -> Result<(), String> {
        let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
        let refusal = SeccompAction::Errno(error.unsigned_abs());
        let filter = SeccompFilter::new(self.0, SeccompAction::Allow, refusal, architecture).map_err(|error| error.to_string())?;
        let program: BpfProgram = filter.try_into().map_err(|error: seccompiler::BackendError| error.to_string())?;
        apply_filter(&program).map_err(|error| error.to_string())
    }
}

/// Refuses calls from now on, in this process, in the program it becomes, and in its children. Calls by the numbers of
/// another architecture end it.
pub(super) fn restrict(profile: &Profile) -> Result<(), String> {
    let mut refused = Refused::default();
    let Some(kind) = Kind::of(profile) else {
        refused.always(NEVER);
        return refused.apply(libc::EPERM);
    };
    match profile {
        Profile::Engine { .. } => {
            // It may have threads, but no other processes.
            refused.when(libc::SYS_clone, &[(0, SeccompCmpOp::MaskedEq(bits(libc::CLONE_THREAD)), 0)])?;
            // It sends itself a signal when it aborts, and stays the same process when it becomes its program.
            for call in [libc::SYS_kill, libc::SYS_tgkill] {
                refused.when(call, &[(0, SeccompCmpOp::Ne, std::process::id().into())])?;
            }
        }
        Profile::Job(rights) => {
            if let JobUser::Root(_) = rights.user {
                refused.always(ATTRIBUTES);
                // It may set the times of a file that it has opened, as `touch` does.
                refused.when(libc::SYS_utimensat, &[(1, SeccompCmpOp::Ne, 0)])?;
            }
            // Its processes talk to each other by pipes and socket pairs. A socket that is not connected for good
            // reaches any path.
            refused.when(libc::SYS_socketpair, &[(0, SeccompCmpOp::Ne, bits(libc::AF_UNIX))])?;
            for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
                refused.when(libc::SYS_socketpair, &[(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), bits(kind))])?;
            }
            // Looks read descriptors and the working directory once per process, so no thread may have its own.
            let thread = bits(libc::CLONE_THREAD);
            for shared in [libc::CLONE_FILES, libc::CLONE_FS] {
                refused.when(libc::SYS_clone, &[(0, SeccompCmpOp::MaskedEq(thread | bits(shared)), thread)])?;
            }
            refused.when(
                libc::SYS_close_range,
                &[(
                    2,
                    SeccompCmpOp::MaskedEq(bits(libc::CLOSE_RANGE_UNSHARE.cast_signed())),
                    bits(libc::CLOSE_RANGE_UNSHARE.cast_signed()),
                )],
            )?;
            // So a full socket holds no more than expected.
            for option in [libc::SO_SNDBUF, libc::SO_SNDBUFFORCE] {
                let of_sockets = (1, SeccompCmpOp::Eq, bits(libc::SOL_SOCKET));
                refused.when(libc::SYS_setsockopt, &[of_sockets, (2, SeccompCmpOp::Eq, bits(option))])?;
            }
            // So a pipe holds no more than expected, and no job is notified of changes in directories or to the files
            // of others.
            for command in [libc::F_SETPIPE_SZ, libc::F_NOTIFY, libc::F_SETLEASE] {
                refused.when(libc::SYS_fcntl, &[(1, SeccompCmpOp::Eq, bits(command))])?;
            }
            // A process may not hide its open files.
            refused.when(libc::SYS_prctl, &[(0, SeccompCmpOp::Eq, bits(libc::PR_SET_DUMPABLE)), (1, SeccompCmpOp::Eq, 0)])?;
            // Filters use memory of the kernel. The forks of a zygote have one more, which refuses any further one.
            if !rights.confines_forks {
                refused.when(libc::SYS_prctl, &[(0, SeccompCmpOp::Eq, bits(libc::PR_SET_SECCOMP))])?;
            }
        }
        Profile::Redis { .. } => {
            refused.when(libc::SYS_socket, &[(0, SeccompCmpOp::Ne, bits(libc::AF_UNIX))])?;
        }
        Profile::Supervisor(_) => {}
    }
    // Limits of other processes, and how they share the processors: a supervisor that hardly runs holds no limit, and no
    // process becomes faster again.
    const OF_ONE: [(c_long, u8); 7] = [
        (libc::SYS_prlimit64, 0),
        (libc::SYS_sched_setparam, 0),
        (libc::SYS_sched_setscheduler, 0),
        (libc::SYS_sched_setaffinity, 0),
        (libc::SYS_sched_setattr, 0),
        (libc::SYS_setpriority, 1),
        (libc::SYS_ioprio_set, 1),
    ];
    for (call, process) in OF_ONE {
        refused.when(call, &[(process, SeccompCmpOp::Ne, 0)])?;
    }
    // Of groups and users.
    refused.when(libc::SYS_setpriority, &[(0, SeccompCmpOp::Ne, PRIO_PROCESS)])?;
    refused.when(libc::SYS_ioprio_set, &[(0, SeccompCmpOp::Ne, IOPRIO_WHO_PROCESS)])?;
    if let Some(signal) = profile.death_signal() {
        let another = (1, SeccompCmpOp::Ne, u64::from(signal.as_raw().unsigned_abs()));
        refused.when(libc::SYS_prctl, &[(0, SeccompCmpOp::Eq, bits(libc::PR_SET_PDEATHSIG)), another])?;
    }
    for namespace in NAMESPACES {
        refused.when(libc::SYS_clone, &[(0, SeccompCmpOp::MaskedEq(bits(namespace)), bits(namespace))])?;
    }
    refused.apply(libc::EPERM)?;
    if !matches!(profile, Profile::Redis { .. }) {
        // The first takes any amount of disk at once, before a check. By the others a byte in a pipe or socket keeps
        // megabytes of a file in memory. A program that learns that this cannot be done reads and writes instead.
        let not_here: [(&[c_long], i32); 2] =
            [(&[libc::SYS_fallocate], libc::EOPNOTSUPP), (&[libc::SYS_sendfile, libc::SYS_splice, libc::SYS_tee], libc::EINVAL)];
        for (calls, error) in not_here {
            let mut refused = Refused::default();
            refused.always(calls);
            refused.apply(error)?;
        }
    }
    // The last filter, because no further one can be set after it.
    apply_filter(&call::filter(kind)?).map_err(|error| error.to_string())
}

fn bits(flag: i32) -> u64 {
    u64::from(flag.cast_unsigned())
}
