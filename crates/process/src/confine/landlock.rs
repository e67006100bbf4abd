//! The files, sockets and processes that the kernel lets a confined process reach.

use std::iter;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::Profile;

/// The newest version of the interface that was tested. Older kernels enforce the part that they support.
const TESTED: ABI = ABI::V7;

/// Paths that the dynamic loader reads. Which of them exist depends on the distribution, so missing ones are skipped.
const LIBRARIES: [&str; 5] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"];

/// The part of the system's configuration that programs read. The rest may hold secrets, and root can read all of it.
const CONFIGURATION: [&str; 14] = [
    "/etc/alternatives",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];

/// Files about the machine and the process that programs read. This process will be the program, so `self` is right;
/// its children have another one.
const MACHINE: [&str; 7] =
    ["/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/filesystems", "/proc/sys/kernel", "/proc/sys/vm", "/sys/devices/system/cpu"];

/// The system's programs.
const PROGRAMS: [&str; 3] = ["/usr", "/bin", "/sbin"];

const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/random"];

/// Restricts this thread, which is the only one of this process. Returns the interface version in force.
pub(super) fn restrict(profile: &Profile, program: &Path) -> Result<i32, String> {
    let ruleset = ruleset(profile).and_then(|ruleset| rules(ruleset, profile, program)).map_err(|error| error.to_string())?;
    let status = ruleset.restrict_self().map_err(|error| error.to_string())?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, LandlockStatus::NotEnabled) => Err("the kernel has it, but it is not enabled".into()),
        (RulesetStatus::NotEnforced, _) => Err("the kernel does not have it".into()),
        (_, LandlockStatus::Available { effective_abi, .. }) => Ok(effective_abi.min(TESTED) as i32),
        (_, status) => Err(format!("{status:?}")),
    }
}

/// Forbids everything that the kernel can forbid.
fn ruleset(profile: &Profile) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default();
    if let Profile::Redis { .. } = profile {
        // Redis renames files between its directories when it rewrites the append-only file. The first interface
        // version forbids that whatever the rules say, so there Redis runs without landlock.
        ruleset = ruleset.set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::Refer)?;
        ruleset = ruleset.set_compatibility(CompatLevel::BestEffort);
    }
    ruleset.handle_access(AccessFs::from_all(TESTED))?.handle_access(AccessNet::from_all(TESTED))?.scope(Scope::from_all(TESTED))?.create()
}

fn rules(ruleset: RulesetCreated, profile: &Profile, program: &Path) -> Result<RulesetCreated, RulesetError> {
    let execute = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    match profile {
        Profile::Engine { .. } => allow(allow(ruleset, LIBRARIES, execute)?, [program], execute),
        Profile::Redis { writable } => {
            let ruleset = allow(allow(ruleset, LIBRARIES, execute)?, [program], execute)?;
            let ruleset = allow(allow(ruleset, ["/usr", "/bin"], execute)?, CONFIGURATION, read)?;
            // Redis reports its own memory, and warns if the kernel is set up badly. This process will be Redis, so
            // `self` is right.
            let ruleset =
                allow(ruleset, ["/proc/self", "/proc/sys/vm", "/proc/sys/net/core", "/sys/kernel/mm", "/sys/devices/system"], read)?;
            let ruleset = allow(ruleset, ["/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"], read | AccessFs::WriteFile)?;
            allow(ruleset, writable.iter().map(PathBuf::as_path), AccessFs::from_all(TESTED) & !BitFlags::from(AccessFs::Execute))
        }
        // A supervisor is not restricted.
        Profile::Supervisor(_) => Ok(ruleset),
        Profile::Job(rights) => {
            let ruleset = allow(allow(ruleset, run_by_jobs(), execute)?, [program], execute)?;
            let ruleset = allow(ruleset, rights.readable.iter().map(PathBuf::as_path), execute)?;
            let ruleset = allow(ruleset, read_by_jobs(), read)?;
            let ruleset = allow(ruleset, DEVICES, read | AccessFs::WriteFile)?;
            // Root could turn any disk into a file of his own.
            let devices = AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev;
            allow(ruleset, iter::once(&rights.writable).chain(&rights.home), AccessFs::from_all(TESTED) & !devices)
        }
    }
}

/// Returns the directories and files of the system that engines may read.
pub fn readable_by_engines() -> impl Iterator<Item = PathBuf> {
    LIBRARIES.into_iter().map(PathBuf::from)
}

/// Returns the same for the processes of jobs, which also read the programs that run their scripts.
pub fn readable_by_jobs() -> impl Iterator<Item = PathBuf> {
    run_by_jobs().map(PathBuf::from).chain(read_by_jobs())
}

/// Returns the devices that jobs may open.
pub(super) fn devices() -> impl Iterator<Item = PathBuf> {
    DEVICES.into_iter().map(PathBuf::from)
}

fn run_by_jobs() -> impl Iterator<Item = &'static str> {
    LIBRARIES.into_iter().chain(PROGRAMS)
}

fn read_by_jobs() -> impl Iterator<Item = PathBuf> {
    CONFIGURATION.into_iter().chain(MACHINE).map(PathBuf::from).chain(of_python())
}

/// Returns the files that every Python of a distribution reads at its start.
fn of_python() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/etc").into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"python")).map(|entry| entry.path()).collect()
}

fn allow(
    ruleset: RulesetCreated,
    paths: impl IntoIterator<Item = impl AsRef<Path>>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    ruleset.add_rules(path_beneath_rules(paths, access))
}
