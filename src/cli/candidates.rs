//! Completions that a shell offers for a word that is an id known to the server.

use std::ffi::OsString;
use std::time::Duration;

use clap::CommandFactory as _;
use tokio::time::timeout;

use super::global::Global;
use super::output;
use super::{Cli, job};
use crate::cli::input::paging::own_caller;
use crate::cli::output::table::{ago, cell};
use crate::client::{Client, Error, code};
use crate::dispatch::JobFilter;
use crate::exit::Exit;
use crate::model::{ContextId, Status};

/// Timeout for asking the server, because the user waits for the shell.
const SERVER_TIMEOUT: Duration = Duration::from_secs(1);
/// The maximum number of candidates; the newest are offered.
const MAX_CANDIDATES: usize = 50;

/// A command line up to the word being typed, without the program: `hero complete -- WORD…`, as called by the scripts
/// of [`super::completions`]. It is not a subcommand, because shells would offer that, too.
#[derive(Debug)]
pub(super) struct Candidates(Vec<String>);

/// The type of the id being typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A job, for a command that takes all jobs or those with this status.
    Job(Option<Status>),
    Schedule,
}

/// The word being typed, and the server and context named by the words before it.
#[derive(Debug, PartialEq, Eq)]
struct Typed {
    kind: Kind,
    server: Option<String>,
    context: ContextId,
}

impl Candidates {
    /// Parses the command line, if these arguments ask for completions.
    pub(super) fn asked(arguments: &[OsString]) -> Option<Self> {
        let [_, complete, line, words @ ..] = arguments else { return None };
        let words = || words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        (complete == "complete" && line == "--").then(words).map(Self)
    }

    /// Prints the candidates for the last word, one per line: the id, a tab, and a description. Prints nothing if the
    /// word is not an id, or no server answers.
    pub(super) async fn main(&self) -> anyhow::Result<Exit> {
        let Some(typed) = typed(&joined(&self.0)) else { return Ok(Exit::Ok) };
        // The user did not ask for anything, so errors are not shown.
        if let Ok(Ok(lines)) = timeout(SERVER_TIMEOUT, typed.lines()).await {
            lines.into_iter().try_for_each(output::line)?;
        }
        Ok(Exit::Ok)
    }
}

impl Typed {
    async fn lines(&self) -> anyhow::Result<Vec<String>> {
        let client = Global::at(self.server.clone()).connect().await?;
        match self.of(&client, None).await {
            Err(error) if error.has_code(code::DENIED) => {
                let own = own_caller(&client, error).await?;
                Ok(self.of(&client, Some(own)).await?)
            }
            lines => Ok(lines?),
        }
    }

    /// Lists the candidates of a caller, or of all.
    async fn of(&self, client: &Client, caller: Option<String>) -> Result<Vec<String>, Error> {
        Ok(match self.kind {
            Kind::Job(status) => {
                let filter = JobFilter { status, caller_id: caller, ..JobFilter::default() };
                let jobs = client.list_jobs(self.context, &filter, None, MAX_CANDIDATES).await?.jobs;
                let what = |job: &crate::model::Job| cell(job.name.as_deref().unwrap_or_else(|| job::gist(&job.script)));
                jobs.iter().map(|job| format!("{}\t{}, {}: {}", job.job_id, job.status, ago(job.created_at), what(job).as_str())).collect()
            }
            Kind::Schedule => {
                let schedules = client.list_schedules(self.context, caller.as_deref(), None, MAX_CANDIDATES).await?.schedules;
                let what = |name: &Option<String>, cron: &Option<String>| {
                    cell(name.as_deref().or(cron.as_deref()).unwrap_or("every")).as_str().to_owned()
                };
                schedules.iter().map(|schedule| format!("{}\t{}", schedule.schedule_id, what(&schedule.name, &schedule.cron))).collect()
            }
        })
    }
}

/// Joins words that bash has split at `=` and `:`.
fn joined(words: &[String]) -> Vec<String> {
    let parts = |word: &str| matches!(word, "=" | ":");
    let mut joined: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        match joined.last_mut() {
            Some(last) if parts(word) || at > 0 && parts(&words[at - 1]) => last.push_str(word),
            _ => joined.push(word.clone()),
        }
    }
    joined
}

/// Returns the id being typed, if the word is one.
fn typed(words: &[String]) -> Option<Typed> {
    let (word, before) = words.split_last()?;
    let mut root = Cli::command();
    root.build();
    let (mut command, mut options) = (&root, true);
    let (mut pending, mut given): (Option<&clap::Arg>, usize) = (None, 0);
    let (mut server, mut context) = (None, ContextId(0));
    for word in before {
        let mut value = |arg: &clap::Arg, text: &str| match arg.get_id().as_str() {
            "server" => server = Some(text.to_owned()),
            "context" => context = text.parse().map_or(context, ContextId),
            _ => {}
        };
        if let Some(arg) = pending.take() {
            value(arg, word);
        } else if options && word == "--" {
            options = false;
        } else if let Some(long) = word.strip_prefix("--").filter(|_| options) {
            let (name, text) = long.split_once('=').map_or((long, None), |(name, text)| (name, Some(text)));
            let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name) && arg.get_action().takes_values());
            match (arg, text) {
                (Some(arg), Some(text)) => value(arg, text),
                (arg, None) => pending = arg.filter(|arg| !arg.is_require_equals_set()),
                (None, Some(_)) => {}
            }
        } else if options && word.len() > 1 && word.starts_with('-') {
            let last = word.chars().last();
            pending = command.get_arguments().find(|arg| arg.get_short() == last && arg.get_action().takes_values());
        } else if let Some(inner) = command.find_subcommand(word).filter(|_| given == 0) {
            command = inner;
        } else {
            given += 1;
        }
    }
    let arg = match pending {
        Some(arg) => arg,
        None if options && word.starts_with('-') => return None,
        None => command.get_positionals().nth(given)?,
    };
    let kind = match arg.get_value_names()?.first()?.as_str() {
        // The id for a new job is not that of an existing one.
        "JOB_ID" if arg.get_long() == Some("id") => return None,
        "JOB_ID" if command.get_name() == "start" => Kind::Job(Some(Status::Created)),
        "JOB_ID" => Kind::Job(None),
        "ID|NAME" => Kind::Schedule,
        _ => return None,
    };
    Some(Typed { kind, server, context })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<Typed> {
        typed(&joined(&line.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>()))
    }

    #[test]
    fn ids_are_found_wherever_a_command_takes_one() {
        let kind = |line| of(line).map(|typed| typed.kind);
        for line in [
            "job show ",
            "job wait --wait 5m 6f",
            "job logs -f ",
            "job show -- ",
            "--json job delete ",
            "run a.rhai --after ",
            "job create -e 1 --parent 6",
        ] {
            assert_eq!(kind(line), Some(Kind::Job(None)), "{line}");
        }
        assert_eq!(kind("job start "), Some(Kind::Job(Some(Status::Created))));
        assert_eq!(kind("schedule delete "), Some(Kind::Schedule));
        for line in [
            "",
            "job ",
            "job show 6f ",
            "job show --",
            "job show --context ",
            "job create --id ",
            "run ",
            "job list ",
            "queue pause ",
            "nonsense ",
        ] {
            assert_eq!(kind(line), None, "{line}");
        }
    }

    #[test]
    fn the_server_and_context_that_were_named_are_asked() {
        let asked = |line| of(line).map(|typed| (typed.server, typed.context.0)).unwrap();
        let there = || Some("ws://h:1".to_owned());
        assert_eq!(asked("--server ws://h:1 job show --context 3 "), (there(), 3));
        // Split as bash does.
        assert_eq!(asked("--server = ws : //h : 1 job show "), (there(), 0));
        assert_eq!(asked("job show --server ws : //h : 1 6f"), (there(), 0));
        assert_eq!(asked("job show "), (None, 0));
    }
}
