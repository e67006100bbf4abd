//! The system calls that a confined program may make: `call.txt` has a list for each kind of program.
//!
//! Every other call is refused. A call newer than the numbers that all architectures share fails as on a kernel without
//! it (ENOSYS), because a libc that tries it continues without it. An older call fails with EPERM, as for a missing
//! permission. So a call of a later kernel is refused until somebody has reviewed it.

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, ENOSYS, EPERM, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO,
    SECCOMP_RET_KILL_PROCESS,
};
use seccompiler::sock_filter;

use super::Profile;

const CALLS: &str = include_str!("call.txt");
/// From this number on, calls have the same number on every architecture.
const FIRST_COMMON_NUMBER: u32 = 424;
/// The offsets at which a filter finds the number of the call, and the architecture.
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;

/// A kind of program that has a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The engine of Rhai, which runs scripts in itself.
    Engine,
    /// A process of a job, whatever program it runs.
    Job,
    /// The Python that forks for each job. Its forks confine themselves further, and then have the calls of a job.
    Zygote,
    /// The private Redis.
    Redis,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Engine, Self::Job, Self::Zygote, Self::Redis];

    /// Returns its name in the list.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Job => "job",
            Self::Zygote => "zygote",
            Self::Redis => "redis",
        }
    }

    /// Returns the kind of a profile, or `None` if its program may make all calls but a few.
    pub(super) const fn of(profile: &Profile) -> Option<Self> {
        match profile {
            Profile::Engine { .. } => Some(Self::Engine),
            Profile::Job(rights) if rights.confines_forks => Some(Self::Zygote),
            Profile::Job(_) => Some(Self::Job),
            Profile::Redis { .. } => Some(Self::Redis),
            Profile::Supervisor(_) => None,
        }
    }
}

/// A system call.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Its name in the kernel.
    pub name: &'static str,
    x86_64: Option<u32>,
    aarch64: Option<u32>,
    who: &'static str,
}

impl Call {
    fn read(line: &'static str) -> Option<Self> {
        let (name, rest) = line.split_once(' ').filter(|(name, _)| *name != "#")?;
        let (x86_64, rest) = rest.trim_start().split_once(' ')?;
        let (aarch64, who) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        Some(Self { name, x86_64: x86_64.parse().ok(), aarch64: aarch64.parse().ok(), who })
    }

    /// Whether a kind of program may make it.
    pub fn is_for(&self, kind: Kind) -> bool {
        self.who.split_ascii_whitespace().any(|who| who == kind.word())
    }

    /// Returns its number on this architecture, if it has one.
    pub const fn number(&self) -> Option<u32> {
        if cfg!(target_arch = "aarch64") { self.aarch64 } else { self.x86_64 }
    }

    /// Whether it fails like an unknown call when it is refused.
    pub fn is_young(&self) -> bool {
        self.number().is_some_and(|number| number >= FIRST_COMMON_NUMBER)
    }
}

/// Returns all calls known when this was written.
pub fn calls() -> impl Iterator<Item = Call> {
    CALLS.lines().filter_map(Call::read)
}

/// Returns the filter that refuses every call that is not on the list of a kind. Calls in the convention of another
/// architecture end the process.
pub(super) fn filter(kind: Kind) -> Result<Vec<sock_filter>, String> {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => 0xc000_003e,
        "aarch64" => 0xc000_00b7,
        other => return Err(format!("no numbers of calls are known for {other}")),
    };
    let refused = |error: i32| (BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error.unsigned_abs());
    let mut program = vec![
        (BPF_LD | BPF_W | BPF_ABS, 0, 0, ARCHITECTURE_OFFSET),
        (BPF_JMP | BPF_JEQ | BPF_K, 1, 0, architecture),
        (BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS),
        (BPF_LD | BPF_W | BPF_ABS, 0, 0, NUMBER_OFFSET),
    ];
    for (first, last) in ranges(calls().filter(|call| call.is_for(kind)).filter_map(|call| call.number())) {
        program.extend([
            (BPF_JMP | BPF_JGE | BPF_K, 0, 2, first),
            (BPF_JMP | BPF_JGT | BPF_K, 1, 0, last),
            (BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW),
        ]);
    }
    program.extend([(BPF_JMP | BPF_JGE | BPF_K, 0, 1, FIRST_COMMON_NUMBER), refused(ENOSYS), refused(EPERM)]);
    let instruction = |(code, jt, jf, k): (u32, u8, u8, u32)| u16::try_from(code).map(|code| sock_filter { code, jt, jf, k });
    program.into_iter().map(instruction).collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// Returns ranges of consecutive numbers, each as its first and last number.
fn ranges(numbers: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_line_names_a_call_once_and_who_may_make_it() {
        let lines = CALLS.lines().filter(|line| !line.starts_with('#')).count();
        let all: Vec<Call> = calls().collect();
        assert_eq!(all.len(), lines);
        let once = |numbers: Vec<u32>| assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
        once(all.iter().filter_map(|call| call.x86_64).collect());
        once(all.iter().filter_map(|call| call.aarch64).collect());
        assert_eq!(all.iter().map(|call| call.name).collect::<BTreeSet<_>>().len(), lines);
        for call in all {
            assert!(call.who.split_ascii_whitespace().all(|who| Kind::ALL.iter().any(|kind| kind.word() == who)), "{call:?}");
            assert!(call.x86_64.is_some() || call.aarch64.is_some(), "{call:?}");
            // Everything that an engine may call, others may call, too.
            assert!(!call.is_for(Kind::Engine) || call.is_for(Kind::Job), "{call:?}");
            // Newer calls have one number.
            assert!(call.x86_64.max(call.aarch64) < Some(FIRST_COMMON_NUMBER) || call.x86_64 == call.aarch64, "{call:?}");
        }
    }

    #[test]
    fn numbers_are_those_of_both_architectures() {
        let of = |name: &str| calls().find(|call| call.name == name).map(|call| (call.x86_64, call.aarch64)).unwrap();
        assert_eq!(of("read"), (Some(0), Some(63)));
        assert_eq!(of("open"), (Some(2), None));
        assert_eq!(of("clone"), (Some(56), Some(220)));
        assert_eq!(of("clone3"), (Some(435), Some(435)));
        assert_eq!(of("execve"), (Some(59), Some(221)));
        assert_eq!(of("newfstatat"), (Some(262), Some(79)));
        assert_eq!(of("seccomp"), (Some(317), Some(277)));
        for (name, number) in [("exit_group", libc::SYS_exit_group), ("openat", libc::SYS_openat), ("mmap", libc::SYS_mmap)] {
            assert_eq!(calls().find(|call| call.name == name).and_then(|call| call.number()).map(i64::from), Some(number));
        }
    }

    #[test]
    fn numbers_that_follow_each_other_are_one_range() {
        assert_eq!(ranges([3, 1, 2, 7, 9, 8].into_iter()), [(1, 3), (7, 9)]);
        assert_eq!(ranges(std::iter::empty()), []);
        for kind in Kind::ALL {
            assert!(filter(kind).unwrap().len() < 1000, "{kind:?}");
        }
    }
}
