use hero_model::api::Repeatable;

/// The effect of a call on the data of a server. Users decide by it which calls a program may make by itself, and
/// clients decide by it which calls they may repeat without a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The call changes nothing.
    Reads,
    /// Each call creates something new.
    Adds,
    /// As above, but repetitions with the same idempotency key take effect once.
    AddsWithKey,
    /// The call changes, stops or removes something that exists. A second call changes nothing more.
    Replaces,
    /// The call runs scripts, which may do anything that scripts may do.
    Runs,
    /// As above, but repetitions with the same idempotency key take effect once.
    RunsWithKey,
}

impl Effect {
    /// The word in the document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Adds | Self::AddsWithKey => "adds",
            Self::Replaces => "replaces",
            Self::Runs | Self::RunsWithKey => "runs",
        }
    }

    /// Whether such a call may be repeated without a check. One that replaces may not: its target may have changed
    /// meanwhile, or be gone.
    pub const fn repeatable(self) -> Repeatable {
        match self {
            Self::Reads => Repeatable::Always,
            Self::AddsWithKey | Self::RunsWithKey => Repeatable::WithKey,
            Self::Adds | Self::Replaces | Self::Runs => Repeatable::Never,
        }
    }
}
