//! The usage of a job's processes, as `/proc` reports it.

use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::process::Pid;

use hero_process::held::of_status;
use hero_process::proc_file;

/// The processor time of reaped children of this process and another one, in ticks, which are coarse.
pub(super) fn time_of_ended(adopter: Option<Pid>) -> Duration {
    let of_adopter = adopter.map_or(Duration::ZERO, |pid| time_of_children(&pid.as_raw_nonzero().to_string()));
    time_of_children("self") + of_adopter
}

fn time_of_children(process: &str) -> Duration {
    ticks_of(process, 13, 2)
}

/// Returns the sum of `many` fields of a process's `stat` after its name, as a time. It is 0 for a process that is
/// gone.
fn ticks_of(process: &str, first: usize, many: usize) -> Duration {
    let ticks = proc_file::read(format!("/proc/{process}/stat")).ok().and_then(|stat| {
        // The name is in parentheses and may contain anything.
        let fields = stat.rsplit_once(')')?.1.split_whitespace().skip(first).take(many).map(str::parse::<u64>);
        fields.sum::<Result<u64, _>>().ok()
    });
    Duration::from_millis(ticks.unwrap_or(0) * 1000 / clock_ticks_per_second().max(1))
}

/// The processor time of running processes, with the children that they have reaped, in ticks.
pub(super) fn time_of_all(processes: &[i32]) -> Duration {
    processes.iter().map(|process| ticks_of(&process.to_string(), 11, 4)).sum()
}

/// The exact processor time of a process's first thread, even after it has ended but was not reaped.
pub(super) fn time_of(pid: Pid) -> Duration {
    let schedule = proc_file::read(format!("/proc/{}/schedstat", pid.as_raw_nonzero())).unwrap_or_default();
    Duration::from_nanos(schedule.split_whitespace().next().and_then(|time| time.parse().ok()).unwrap_or(0))
}

/// The peak memory of a process, in bytes. It is 0 for a process that has ended.
pub(super) fn peak_memory(pid: Pid) -> u64 {
    of_status(pid.as_raw_nonzero().get(), &["VmHWM:"])
}
