//! Tips for words and options that do not exist: the ones that are meant.

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue};

use crate::cli::Cli;
use crate::cli::input::typed;
use crate::model::nearest;

/// Words that other programs have for a command here: the command they follow, the words, and what is meant.
const WORDS: [(&str, &[&str], &[&str]); 8] = [
    ("hero", &["ps"], &["hero job list"]),
    ("hero", &["log"], &["hero job logs"]),
    ("hero", &["cancel", "kill"], &["hero job stop"]),
    ("hero", &["submit"], &["hero job create", "hero run"]),
    ("hero", &["worker"], &["hero serve --pool TYPE=N"]),
    ("hero", &["lint", "test", "validate"], &["hero check", "hero flow check"]),
    ("hero job", &["cancel", "kill"], &["hero job stop"]),
    ("hero job", &["rm", "remove"], &["hero job delete"]),
];

/// Options that other programs have for an option here.
const OPTIONS: [(&[&str], &[&str], &str); 2] = [
    (&["hero serve"], &["--host", "--port", "-p"], "--listen HOST:PORT"),
    (&["hero run", "hero job create", "hero schedule create"], &["--retry"], "--retries N"),
];

/// Adds what is meant to the refusal of a word or an option. Drops what clap finds similar and nobody could mistype.
pub(in crate::cli) fn with_tip(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let command = typed::command(arguments);
    let meant = if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) {
        let meant = command_for(&command, word);
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::Suggested);
        meant
    } else if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) {
        let option = option.split('=').next().unwrap_or_default().to_owned();
        if let Some(ContextValue::String(similar)) = error.get(ContextKind::SuggestedArg)
            && !is_near(&option, similar)
        {
            error.remove(ContextKind::SuggestedArg);
        }
        let of = OPTIONS.iter().find(|(commands, options, _)| commands.contains(&&*command) && options.contains(&&*option));
        of.map(|(.., meant)| {
            error.remove(ContextKind::SuggestedArg);
            format!("`{meant}`")
        })
    } else {
        None
    };
    if let Some(meant) = meant {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![format!("did you mean {meant}?").into()]));
    }
    error
}

/// Returns the commands that a word after a command stands for.
fn command_for(command: &str, word: &str) -> Option<String> {
    if let Some((.., meant)) = WORDS.iter().find(|(of, words, _)| *of == command && words.contains(&word)) {
        return Some(meant.iter().map(|meant| format!("`{meant}`")).collect::<Vec<_>>().join(" or "));
    }
    let cli = Cli::command();
    let jobs = cli.find_subcommand("job")?;
    // The result of a job is what waiting for it prints.
    let word = if (command, word) == ("hero job", "result") { "wait" } else { word };
    if ["hero", "hero job"].contains(&command) && jobs.find_subcommand(word).is_some() {
        return Some(format!("`hero job {word}`"));
    }
    let of = command.split(' ').skip(1).try_fold(&cli, |command, word| command.find_subcommand(word))?;
    nearest(word, of.get_subcommands().map(clap::Command::get_name)).map(|name| format!("`{command} {name}`"))
}

/// Whether an option is a typing error of another one, or its beginning.
fn is_near(option: &str, other: &str) -> bool {
    let (option, other) = (option.trim_start_matches('-'), other.trim_start_matches('-'));
    nearest(option, [other]).is_some() || (option.len() > 2 && other.starts_with(option))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_and_option_that_a_tip_names_exists() {
        let cli = Cli::command();
        let find = |words: &str| {
            let names = words.split(' ').skip(1).take_while(|word| !word.starts_with('-'));
            names.map(str::to_owned).try_fold(cli.clone(), |command, word| command.find_subcommand(word).cloned())
        };
        for meant in WORDS.iter().flat_map(|(.., meant)| *meant) {
            assert!(find(meant).is_some(), "{meant}");
        }
        for (commands, _, meant) in OPTIONS {
            let name = meant.trim_start_matches('-').split(' ').next();
            for command in commands {
                assert!(find(command).unwrap().get_arguments().any(|argument| argument.get_long() == name), "{command} {meant}");
            }
        }
    }
}
