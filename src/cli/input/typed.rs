//! The command as the user gave it, for messages that name it.

use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;

use clap::CommandFactory as _;

use crate::cli::Cli;

static TYPED: OnceLock<String> = OnceLock::new();

/// Notes the command of these arguments.
pub(in crate::cli) fn note(arguments: &[OsString]) {
    let _ = TYPED.set(command(arguments)); // There is one command in a process.
}

/// Returns the command, without its options and values.
pub(in crate::cli) fn typed() -> &'static str {
    TYPED.get().map_or("hero", String::as_str)
}

pub(in crate::cli) fn command(arguments: &[OsString]) -> String {
    let cli = Cli::command();
    let (mut command, mut words) = (&cli, vec!["hero".to_owned()]);
    for argument in arguments.iter().skip(1).take_while(|argument| *argument != "--") {
        if let Some(found) = argument.to_str().and_then(|word| command.find_subcommand(word)) {
            words.push(found.get_name().to_owned());
            command = found;
        }
    }
    words.join(" ")
}

/// Quotes a word for a shell, if it needs that.
pub(in crate::cli) fn quoted(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+=:@,".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Returns why this is no file of a script, if its name says that it is a flow.
pub(in crate::cli) fn of_flow(file: &Path) -> Option<String> {
    let extension = file.extension()?.to_str()?.to_ascii_lowercase();
    let command = match typed() {
        "hero check" => "check",
        "hero run" => "run",
        _ => "create",
    };
    let shown = quoted(&file.display().to_string());
    ["yaml", "yml"].contains(&extension.as_str()).then(|| format!("a .{extension} file is a flow: `hero flow {command} {shown}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_named_without_its_options() {
        let named = |line: &str| command(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(named("hero --server ws://h:1 run -e 1 --wait 5s"), "hero run");
        assert_eq!(named("/usr/bin/hero job --json create a.rhai"), "hero job create");
        assert_eq!(named("hero object list"), "hero object collections");
        assert_eq!((quoted("a/b.rhai"), quoted("it's")), ("a/b.rhai".to_owned(), r"'it'\''s'".to_owned()));
    }
}
