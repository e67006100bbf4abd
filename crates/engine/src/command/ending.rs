/// Why a job was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Stopped,
    Timeout,
    /// It used a processor for too long.
    CpuTime,
    Processes,
    /// More than so many bytes.
    Memory(u64),
    Disk,
}
