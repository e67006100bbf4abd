use serde_json::{Value, json};

use super::advice::{Unstarted, advice, without};
use super::script_error::ScriptError;
use super::translate::translated;
use super::unanswered::Unanswered;
use crate::cli::call::AsSent;
use crate::cli::output::{self, Style};
use crate::exit::{Exit, Interrupted, Usage, chain};
use crate::server::settings;
use crate::{client, store};

/// Returns the exit code for any error.
fn exit_of(error: &anyhow::Error) -> Exit {
    if let Some(error) = error.downcast_ref::<client::Error>() {
        return Exit::of_client(error);
    }
    if let Some(wrong) = error.downcast_ref::<ScriptError>() {
        return wrong.exit;
    }
    if error.is::<Interrupted>() {
        return Exit::Interrupted;
    }
    let of_setting = matches!(error.downcast_ref(), Some(store::Error::Setting(_)));
    if error.is::<settings::Invalid>() || error.is::<Usage>() || of_setting {
        return Exit::Usage;
    }
    let pipe = error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe);
    if pipe { Exit::Ok } else { Exit::Other } // `hero job list | head` is no failure.
}

/// Shows an error: on stderr for people, as a document on stdout with `--json`.
pub(in crate::cli) fn report(error: &anyhow::Error, json: bool) -> Exit {
    let exit = exit_of(error);
    if exit == Exit::Ok {
        return exit;
    }
    let (client, wrong) = (error.downcast_ref::<client::Error>(), error.downcast_ref::<ScriptError>());
    let unstarted = error.downcast_ref::<Unstarted>();
    let unanswered = error.downcast_ref::<Unanswered>();
    let told = unanswered.map_or_else(|| chain(error), |unanswered| unanswered.on(&chain(error)));
    if json {
        let rpc = client.and_then(client::Error::rpc);
        let mut data = wrong.map(ScriptError::data).or_else(|| rpc.and_then(|rpc| rpc.data.clone()));
        if let Some(unstarted) = unstarted {
            unstarted.add_to(&mut data);
        }
        document(rpc.map(|rpc| rpc.code), &told, data.as_ref(), exit as u8);
    } else if let Some(wrong) = wrong {
        wrong.render(Style::stderr()).into_iter().for_each(|line| output::tell(line, 2));
    } else {
        // A server's message is one line, but some of our own errors contain lines of a log. The failure of a job is
        // shown in the words of its script, which are not translated.
        let is_as_sent = error.downcast_ref::<AsSent>().is_some();
        let ours = !is_as_sent && client.is_some_and(|error| error.rpc().is_none_or(|rpc| rpc.job_failure().is_none()));
        let advice = match client {
            Some(client) => advice(client, unanswered, error.downcast_ref(), unstarted),
            None => unstarted.map(Unstarted::advice),
        };
        let style = Style::stderr();
        let told = if advice.is_some() { without(&told).to_owned() } else { told };
        let told = if ours { translated(&told) } else { told };
        let (first, more) = if client.is_some() { (told.as_str(), "") } else { told.split_once('\n').unwrap_or((&told, "")) };
        output::tell(style.red("error:") + " " + first, MARGIN);
        let advice = advice.as_deref().unwrap_or_default();
        more.lines().chain(advice.lines()).for_each(|line| output::tell(format!("{:MARGIN$}{line}", ""), MARGIN));
    }
    exit
}

/// The indentation of further lines of an error: the width of `error: `.
const MARGIN: usize = 7;

/// Reports refused arguments as JSON.
pub(in crate::cli) fn refused(error: &clap::Error) {
    document(None, &reason(error), None, u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8));
}

fn document(code: Option<i32>, message: &str, data: Option<&Value>, exit: u8) {
    let document = json!({ "error": { "code": code, "message": message, "data": data }, "exit_code": exit });
    let _ = output::json(&document); // There is no other place to report a failure.
}

/// Returns why arguments were refused, on one line and without the usage.
fn reason(error: &clap::Error) -> String {
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a command is missing; --help lists those that there are".to_owned();
    }
    let said = crate::cli::plain(&error.render().to_string());
    let said = said.strip_prefix("error: ").unwrap_or(&said);
    let parts = said.split("\n\n").take_while(|part| !part.starts_with("Usage:") && !part.starts_with("For more information"));
    parts.map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use super::*;

    #[test]
    fn a_refusal_of_arguments_is_one_line_without_the_usage() {
        let told = |arguments: &[&str]| {
            let command =
                Command::new("hero").subcommand_required(true).subcommand(Command::new("list").arg(Arg::new("FILE").required(true)));
            reason(&command.try_get_matches_from(arguments).unwrap_err())
        };
        assert_eq!(told(&["hero", "lst"]), "unrecognized subcommand 'lst'; tip: a similar subcommand exists: 'list'");
        assert_eq!(told(&["hero", "list"]), "the following required arguments were not provided: <FILE>");
    }
}
