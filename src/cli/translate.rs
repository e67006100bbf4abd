//! Translates messages of a server, which name methods and parameters, into commands and options.

/// The command for each method that has one.
const COMMANDS: [(&str, &str); 63] = [
    ("acknowledge_message", "hero message acknowledge"),
    ("check_script", "hero check"),
    ("create_context", "hero context create"),
    ("create_flow", "hero flow create"),
    ("create_identity", "hero identity create"),
    ("create_job", "hero job create"),
    ("create_jobs", "hero job create-many"),
    ("create_runner", "hero runner create"),
    ("create_schedule", "hero schedule create"),
    ("create_token", "hero token create"),
    ("delete_context", "hero context delete"),
    ("delete_flow", "hero flow delete"),
    ("delete_identity", "hero identity delete"),
    ("delete_job", "hero job delete"),
    ("delete_message", "hero message delete"),
    ("delete_object", "hero object delete"),
    ("delete_runner", "hero runner delete"),
    ("delete_schedule", "hero schedule delete"),
    ("drain_server", "hero drain"),
    ("drop_collection", "hero object drop"),
    ("explain_job", "hero job explain"),
    ("find_objects", "hero object find"),
    ("get_context", "hero context show"),
    ("get_flow", "hero flow show"),
    ("get_identity", "hero identity show"),
    ("get_job", "hero job show"),
    ("get_logs", "hero job logs"),
    ("get_message", "hero message show"),
    ("get_object", "hero object get"),
    ("get_result", "hero job wait"),
    ("get_runner", "hero runner show"),
    ("get_status", "hero job status"),
    ("list_actors", "hero actor list"),
    ("list_collections", "hero object collections"),
    ("list_contexts", "hero context list"),
    ("list_flows", "hero flow list"),
    ("list_functions", "hero functions"),
    ("list_identities", "hero identity list"),
    ("list_jobs", "hero job list"),
    ("list_messages", "hero message list"),
    ("list_queues", "hero queue list"),
    ("list_runners", "hero runner list"),
    ("list_schedules", "hero schedule list"),
    ("list_tokens", "hero token list"),
    ("pause_queue", "hero queue pause"),
    ("ping_node", "hero message ping"),
    ("resume_queue", "hero queue resume"),
    ("retry_flow", "hero flow retry"),
    ("retry_job", "hero job retry"),
    ("revoke_token", "hero token revoke"),
    ("run_and_wait", "hero run"),
    ("run_flow_and_wait", "hero flow run"),
    ("send_message", "hero message send"),
    ("set_object", "hero object set"),
    ("start_flow", "hero flow start"),
    ("start_job", "hero job start"),
    ("stop_flow", "hero flow stop"),
    ("stop_job", "hero job stop"),
    ("update_context", "hero context update"),
    ("update_identity", "hero identity update"),
    ("update_runner", "hero runner update"),
    ("wait_flow", "hero flow wait"),
    ("wait_job", "hero job wait"),
];

/// The options for parameters whose names are not common words in messages.
const OPTIONS: [(&str, &str); 13] = [
    ("context_id", "--context"),
    ("end_at", "--end-at"),
    ("env_vars", "--env"),
    ("idempotency_key", "--idempotency-key"),
    ("log_path", "--log-path"),
    ("missed_limit", "--missed-limit"),
    ("parent_id", "--parent"),
    ("predecessor_id", "--predecessor"),
    ("retry_backoff", "--retry-backoff"),
    ("run_at", "--run-at"),
    ("schedule_id", "--schedule-id"),
    ("start_at", "--start-at"),
    ("time_zone", "--time-zone"),
];

/// The options for parameters that a message names first, because their values are wrong.
const FIRST: [(&str, &str); 15] = [
    ("args", "--args"),
    ("caller_id", "--caller"),
    ("cron", "--cron"),
    ("cursor", "--cursor"),
    ("dependents", "--dependent"),
    ("every", "--every"),
    ("group", "--group"),
    ("instance", "--instance"),
    ("labels", "--label"),
    ("name", "--name"),
    ("prerequisites", "--after"),
    ("priority", "--priority"),
    ("retention", "--retention"),
    ("retries", "--retries"),
    ("timeout", "--timeout"),
];

/// Translates a server's message into the terms of the command line.
pub(super) fn translated(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let option = |name: &str| FIRST.iter().find(|(first, _)| *first == name).map(|(_, option)| *option);
    let mut rest = match message.split_once(": ").map(|(name, wrong)| (option(name), wrong)) {
        Some((Some(option), wrong)) => {
            text.push_str(option);
            text.push_str(": ");
            wrong
        }
        _ => message,
    };
    while !rest.is_empty() {
        let word = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let known = |table: &[(&str, &'static str)]| table.iter().find(|(name, _)| *name == &rest[..word]).map(|(_, said)| *said);
        match (known(&COMMANDS), known(&OPTIONS)) {
            (Some(command), _) if text.ends_with('`') => text.push_str(command),
            (Some(command), _) => text.push_str(&format!("`{command}`")),
            (None, Some(option)) => text.push_str(option),
            (None, None) => text.push_str(&rest[..word]),
        }
        rest = &rest[word..];
        let other = rest.find(|c: char| c.is_ascii_alphanumeric() || c == '_').unwrap_or(rest.len());
        text.push_str(&rest[..other]);
        rest = &rest[other..];
    }
    text.replace("use next_cursor of the page before", "take the one that the list before ended with")
        .replace("the store is unavailable", "Redis does not answer the server")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    /// Methods that no command stands for, and those whose names are common words in messages.
    const NONE: [&str; 17] = [
        "authenticate",
        "fetch_nonce",
        "grant",
        "number_job",
        "ping",
        "present_token",
        "revoke",
        "server_info",
        "subscribe_events",
        "subscribe_flow",
        "subscribe_job",
        "subscribe_logs",
        "unsubscribe_events",
        "unsubscribe_flow",
        "unsubscribe_job",
        "unsubscribe_logs",
        "whoami",
    ];

    #[test]
    fn every_method_of_the_document_has_a_command_that_exists_or_none() {
        let document: serde_json::Value = serde_json::from_str(include_str!("../../openrpc.json")).unwrap();
        let mut methods: Vec<&str> =
            document["methods"].as_array().unwrap().iter().map(|method| method["name"].as_str().unwrap()).collect();
        methods.sort_unstable();
        let mut known: Vec<&str> = COMMANDS.iter().map(|(method, _)| *method).chain(NONE).collect();
        known.sort_unstable();
        assert_eq!(known, methods);
        for (_, words) in COMMANDS {
            let mut command = &Cli::command();
            for word in words.split(' ').skip(1) {
                command = command.find_subcommand(word).unwrap_or_else(|| panic!("`{words}` is no command"));
            }
        }
    }

    #[test]
    fn methods_become_commands_and_parameters_options() {
        assert_eq!(
            translated("schedule x does not exist; list_schedules gives those"),
            "schedule x does not exist; `hero schedule list` gives those"
        );
        assert_eq!(translated("log_path: `wait_job` (my_wait_job)"), "--log-path: `hero job wait` (my_wait_job)");
        assert_eq!(translated("the store is unavailable; é"), "Redis does not answer the server; é");
        assert_eq!(translated("cron: \"1\" has 1 fields"), "--cron: \"1\" has 1 fields");
        assert_eq!(
            translated("cursor: is not a cursor; use next_cursor of the page before"),
            "--cursor: is not a cursor; take the one that the list before ended with"
        );
        assert_eq!(translated("it is gone; find_objects gives those"), "it is gone; `hero object find` gives those");
        assert_eq!(translated("script: cron: 1"), "script: cron: 1");
        assert_eq!(translated(""), "");
    }
}
