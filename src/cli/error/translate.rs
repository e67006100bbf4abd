//! Translates messages of a server, which name methods and parameters, into commands and options.

use std::borrow::Cow;
use std::sync::LazyLock;

use clap::CommandFactory as _;

use crate::cli::Cli;

/// The commands for methods that do not follow from the name: `stop_job` is `hero job stop`, and `get` is `show`.
const COMMANDS: [(&str, &str); 13] = [
    ("check_script", "hero check"),
    ("create_jobs", "hero job create-many"),
    ("drain_server", "hero drain"),
    ("drop_collection", "hero object drop"),
    ("get_logs", "hero job logs"),
    ("get_object", "hero object get"),
    ("get_result", "hero job wait"),
    ("get_status", "hero job status"),
    ("list_collections", "hero object collections"),
    ("list_functions", "hero functions"),
    ("ping_node", "hero message ping"),
    ("run_and_wait", "hero run"),
    ("run_flow_and_wait", "hero flow run"),
];

/// The commands whose options are named after parameters.
const WITH_OPTIONS: [[&str; 2]; 3] = [["job", "create"], ["schedule", "create"], ["job", "list"]];

/// Parameters that messages also mention in commands that have no option for them.
const WITHOUT_OPTION: [&str; 2] = ["caller_id", "script_type"];

static CLI: LazyLock<clap::Command> = LazyLock::new(Cli::command);

/// Returns the option for a parameter. A script has none, because it usually comes from a file.
fn option(parameter: &str) -> Option<String> {
    let commands = WITH_OPTIONS.iter().filter_map(|[noun, verb]| CLI.find_subcommand(noun)?.find_subcommand(verb));
    let option = commands.flat_map(clap::Command::get_arguments).find(|option| option.get_id() == parameter)?;
    option.get_long().filter(|long| *long != "script").map(|long| format!("--{long}"))
}

/// Returns the command for a method, if there is one.
fn command(method: &str) -> Option<Cow<'static, str>> {
    if let Some((_, command)) = COMMANDS.iter().find(|(name, _)| *name == method) {
        return Some((*command).into());
    }
    let (verb, nouns) = method.split_once('_')?;
    let verb = if verb == "get" { "show" } else { verb };
    let noun = match nouns.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => nouns.strip_suffix('s').unwrap_or(nouns).to_owned(),
    };
    CLI.find_subcommand(&noun)?.find_subcommand(verb)?;
    Some(format!("hero {noun} {verb}").into())
}

/// Translates a server's message into the terms of the command line.
pub(in crate::cli) fn translated(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = match message.split_once(": ").map(|(name, wrong)| (option(name), wrong)) {
        Some((Some(option), wrong)) => {
            text.push_str(&option);
            text.push_str(": ");
            wrong
        }
        _ => message,
    };
    while !rest.is_empty() {
        let word = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = &rest[..word];
        // Other names of parameters are common words, unless the message begins with them.
        let is_parameter = name.contains('_') && !WITHOUT_OPTION.contains(&name);
        match (is_parameter.then(|| option(name)).flatten(), command(name)) {
            (Some(option), _) => text.push_str(&option),
            (None, Some(command)) if text.ends_with('`') => text.push_str(&command),
            (None, Some(command)) => text.push_str(&format!("`{command}`")),
            (None, None) => text.push_str(name),
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
    use super::*;
    use crate::cli::flow::known_keys;
    use crate::model::JobSpec;

    #[test]
    fn every_listed_method_and_its_command_exist() {
        let document: serde_json::Value = serde_json::from_str(include_str!("../../../openrpc.json")).unwrap();
        for (method, words) in COMMANDS {
            assert!(document["methods"].as_array().unwrap().iter().any(|known| known["name"] == method), "{method} is no method");
            let cli = Cli::command();
            let found = words.split(' ').skip(1).try_fold(&cli, |command, word| command.find_subcommand(word));
            assert!(found.is_some(), "`{words}` is no command");
        }
    }

    #[test]
    fn the_name_of_a_method_gives_its_command() {
        for (method, words) in [
            ("get_job", Some("hero job show")),
            ("list_identities", Some("hero identity list")),
            ("list_actors", Some("hero actor list")),
            ("acknowledge_message", Some("hero message acknowledge")),
            ("get_logs", Some("hero job logs")),
            ("subscribe_job", None),
            ("server_info", None),
            ("context_id", None),
            ("ping", None),
        ] {
            assert_eq!(command(method).as_deref(), words, "{method}");
        }
    }

    #[test]
    fn each_field_of_a_job_has_an_option() {
        let fields = known_keys::<JobSpec>().into_iter().filter(|field| !["script", "job_id"].contains(&field.as_str()));
        let without: Vec<String> = fields.filter(|field| option(field).is_none()).collect();
        assert!(without.is_empty(), "{without:?}");
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
        assert_eq!(translated("name: name and worker_id"), "--name: name and --worker-id");
        assert_eq!(translated("caller_id: leave caller_id out"), "--caller: leave caller_id out");
        assert_eq!(translated("script: cron: 1"), "script: cron: 1");
        assert_eq!(translated(""), "");
    }
}
