use Effect::{Adds, AddsWithKey, Reads, Replaces, Runs, RunsWithKey};

/// Every method and subscription of the server, in document order, with the effect of a call.
///
/// The server documents its methods by this table, and clients decide by it which calls they may repeat.
pub const METHODS: &[(&str, Effect)] = &[
    ("create_job", AddsWithKey),
    ("create_jobs", AddsWithKey),
    ("start_job", Runs),
    ("run_and_wait", RunsWithKey),
    ("wait_job", Reads),
    ("stop_job", Replaces),
    ("retry_job", Runs),
    ("get_status", Reads),
    ("get_job", Reads),
    ("get_result", Reads),
    ("get_logs", Reads),
    ("list_jobs", Reads),
    ("number_job", Adds),
    ("delete_job", Replaces),
    ("explain_job", Reads),
    ("create_flow", AddsWithKey),
    ("run_flow_and_wait", RunsWithKey),
    ("start_flow", Runs),
    ("wait_flow", Reads),
    ("get_flow", Reads),
    ("list_flows", Reads),
    ("stop_flow", Replaces),
    ("retry_flow", Runs),
    ("delete_flow", Replaces),
    ("create_schedule", RunsWithKey),
    ("list_schedules", Reads),
    ("delete_schedule", Replaces),
    ("set_object", Replaces),
    ("get_object", Reads),
    ("find_objects", Reads),
    ("delete_object", Replaces),
    ("list_collections", Reads),
    ("drop_collection", Replaces),
    ("create_identity", Adds),
    ("update_identity", Replaces),
    ("get_identity", Reads),
    ("list_identities", Reads),
    ("delete_identity", Replaces),
    ("whoami", Reads),
    ("fetch_nonce", Reads),
    ("authenticate", Adds),
    ("create_token", Adds),
    ("present_token", Adds),
    ("list_tokens", Reads),
    ("revoke_token", Replaces),
    ("create_context", Adds),
    ("update_context", Replaces),
    ("get_context", Reads),
    ("list_contexts", Reads),
    ("delete_context", Replaces),
    ("grant", Replaces),
    ("revoke", Replaces),
    ("create_runner", Adds),
    ("update_runner", Replaces),
    ("get_runner", Reads),
    ("list_runners", Reads),
    ("delete_runner", Replaces),
    ("send_message", Adds),
    ("ping_node", Adds),
    ("get_message", Reads),
    ("list_messages", Reads),
    ("acknowledge_message", Replaces),
    ("delete_message", Replaces),
    ("list_actors", Reads),
    ("list_functions", Reads),
    ("check_script", Reads),
    ("list_queues", Reads),
    ("pause_queue", Replaces),
    ("resume_queue", Replaces),
    ("server_info", Reads),
    ("ping", Reads),
    ("subscribe_job", Reads),
    ("subscribe_flow", Reads),
    ("subscribe_events", Reads),
    ("subscribe_logs", Reads),
    ("drain_server", Replaces),
];

/// Whether a client may repeat a call whose answer was lost, so that it does not know whether it was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeatable {
    /// The call changes nothing.
    Always,
    /// If the call has an idempotency key: then it is carried out once, and each repetition gets the same answer.
    WithKey,
    /// The call might be carried out twice, or be refused although it was carried out.
    Never,
}

impl Repeatable {
    /// Whether calls of this method may be repeated. Those of unknown methods may not.
    pub fn of(method: &str) -> Self {
        let known = METHODS.iter().find(|(name, _)| *name == method);
        known.map_or(Self::Never, |(_, effect)| effect.repeatable())
    }

    /// The word in the document.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::WithKey => "with_key",
            Self::Never => "never",
        }
    }
}

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
    /// Returns the effect of a method, in a constant expression.
    ///
    /// # Panics
    ///
    /// If the method is not in [`METHODS`]. In a constant expression this is a compile error.
    pub const fn of(method: &str) -> Self {
        let mut at = 0;
        while at < METHODS.len() {
            if is_same(METHODS[at].0, method) {
                return METHODS[at].1;
            }
            at += 1;
        }
        panic!("a method is not in METHODS of hero_model::api, which says what its calls do");
    }

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

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
