/// Why a job was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Stopped,
    Timeout,
    /// It used too much processor time.
    CpuTime,
    Processes,
    /// It had more than this number of bytes.
    Memory(u64),
    Disk,
}
