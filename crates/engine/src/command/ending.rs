use hero_process::held::Exceeded;

/// Why a job was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Stopped,
    Timeout,
    /// It used too much processor time.
    CpuTime,
    Exceeded(Exceeded),
}
