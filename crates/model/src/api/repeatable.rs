use Repeatable::{Always, Never, WithKey};

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
        known.map_or(Self::Never, |(_, repeatable)| *repeatable)
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

/// Every method and subscription of the server, in document order, with whether a client may repeat a call of it.
/// `UPDATE=1 cargo test --test it documents::generated` prints these lines from the methods of the server.
const METHODS: &[(&str, Repeatable)] = &[
    ("create_job", WithKey),
    ("create_jobs", WithKey),
    ("start_job", Never),
    ("run_and_wait", WithKey),
    ("wait_job", Always),
    ("stop_job", Never),
    ("retry_job", Never),
    ("get_status", Always),
    ("get_job", Always),
    ("get_result", Always),
    ("get_logs", Always),
    ("list_jobs", Always),
    ("number_job", Never),
    ("delete_job", Never),
    ("explain_job", Always),
    ("create_flow", WithKey),
    ("run_flow_and_wait", WithKey),
    ("start_flow", Never),
    ("wait_flow", Always),
    ("get_flow", Always),
    ("list_flows", Always),
    ("stop_flow", Never),
    ("retry_flow", Never),
    ("delete_flow", Never),
    ("create_schedule", WithKey),
    ("list_schedules", Always),
    ("delete_schedule", Never),
    ("set_object", Never),
    ("get_object", Always),
    ("find_objects", Always),
    ("delete_object", Never),
    ("list_collections", Always),
    ("drop_collection", Never),
    ("create_identity", Never),
    ("update_identity", Never),
    ("get_identity", Always),
    ("list_identities", Always),
    ("delete_identity", Never),
    ("whoami", Always),
    ("fetch_nonce", Always),
    ("authenticate", Never),
    ("create_token", Never),
    ("present_token", Never),
    ("list_tokens", Always),
    ("revoke_token", Never),
    ("create_context", Never),
    ("update_context", Never),
    ("get_context", Always),
    ("list_contexts", Always),
    ("delete_context", Never),
    ("grant", Never),
    ("revoke", Never),
    ("create_runner", Never),
    ("update_runner", Never),
    ("get_runner", Always),
    ("list_runners", Always),
    ("delete_runner", Never),
    ("send_message", Never),
    ("ping_node", Never),
    ("get_message", Always),
    ("list_messages", Always),
    ("acknowledge_message", Never),
    ("delete_message", Never),
    ("list_actors", Always),
    ("list_functions", Always),
    ("check_script", Always),
    ("list_queues", Always),
    ("pause_queue", Never),
    ("resume_queue", Never),
    ("server_info", Always),
    ("ping", Always),
    ("subscribe_job", Always),
    ("subscribe_flow", Always),
    ("subscribe_events", Always),
    ("subscribe_logs", Always),
    ("drain_server", Never),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_methods_are_never_repeated() {
        assert_eq!(Repeatable::of("no_such_method"), Repeatable::Never);
        assert_eq!(Repeatable::of("get_job"), Repeatable::Always);
    }
}
