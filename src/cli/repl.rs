//! The REPL: evaluates lines one after another in a separate engine, without a server.

mod line;

use std::collections::BTreeMap;
use std::io::{BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use tokio_util::sync::CancellationToken;

use super::functions;
use super::output::{self, Style};
use crate::cli::error::script_error::render;
use crate::cli::input::choices::Types;
use crate::engine::{Capability, Child, EngineJob, EngineSettings, Host, Limits, LogRecord, reference};
use crate::exit::{Exit, Usage};
use crate::model::{ContextId, JobId, ScriptType};
use crate::process::Spawner;
use line::{LineHelper, is_complete, is_of_name};

/// The language of the lines.
#[derive(Debug, Args)]
pub(super) struct Repl {
    /// The script type of the lines
    #[arg(long = "type", value_name = "TYPE", value_parser = Types, hide_possible_values = true, default_value = "osis")]
    script_type: ScriptType,
}

/// The number of lines kept in the history.
const HISTORY_LINES: usize = 1000;
/// The script name in errors.
const NAME: &str = "repl";

impl Repl {
    pub(super) async fn main(&self) -> anyhow::Result<Exit> {
        if !self.script_type.is_built_in() {
            return Err(Usage(format!("lines of type {} are not evaluated here, only those of osis and sal", self.script_type)).into());
        }
        let mut settings = EngineSettings::new(std::env::current_exe().context("this program does not find itself")?);
        settings.capabilities = Capability::possible(&self.script_type);
        let spawner = Spawner::start().context("cannot start the thread that starts children")?;
        let mut engine = Child::start(&spawner, &settings).await?;
        let mut lines = Lines::open()?;
        while let Some(line) = lines.next()? {
            match ReplInput::of(&line) {
                ReplInput::Nothing => continue,
                ReplInput::End => break,
                ReplInput::Help => {
                    output::lines(HELP)?;
                    continue;
                }
                ReplInput::HelpWith(word) => {
                    functions::tell(&self.script_type, word)?;
                    continue;
                }
                ReplInput::Script => {}
            }
            evaluate(&mut engine, line, matches!(lines, Lines::Typed { .. })).await?;
            if !engine.is_alive() {
                engine = Child::start(&spawner, &settings).await?;
                output::note(Style::stderr().yellow("the engine was replaced: variables and functions are gone"));
            }
        }
        lines.close();
        Ok(Exit::Ok)
    }
}

/// The answer to `help`.
const HELP: &str = "\
A line is Rhai, or HeroScript if it begins with !!. Variables and functions are kept. An open bracket or text continues on the next line.

  help WORD     show the functions whose name or group contains this word
  exit, quit    leave, as Ctrl-D does

Tab completes the names of functions, Ctrl-C stops a script. https://rhai.rs/book describes the language.";

/// The meaning of a line.
#[derive(Debug, PartialEq, Eq)]
enum ReplInput<'l> {
    Nothing,
    End,
    Help,
    /// Help for the functions with this word.
    HelpWith(&'l str),
    Script,
}

impl<'l> ReplInput<'l> {
    fn of(line: &'l str) -> Self {
        let is_word = |word: &str| word.chars().all(|letter| is_of_name(letter) || letter == ':');
        match line.trim().trim_end_matches(';') {
            "" => Self::Nothing,
            "exit" | "exit()" | "quit" | "quit()" => Self::End,
            "help" | "help()" => Self::Help,
            line => match line.strip_prefix("help ").map(str::trim).filter(|word| is_word(word)) {
                Some(word) => Self::HelpWith(word),
                None => Self::Script,
            },
        }
    }
}

/// The source of the lines.
enum Lines {
    /// A user types them.
    Typed { editor: Box<Editor<LineHelper, FileHistory>>, history: Option<PathBuf> },
    /// They come from a file or a pipe.
    Piped(std::io::Lines<std::io::StdinLock<'static>>),
}

impl Lines {
    fn open() -> anyhow::Result<Self> {
        if !std::io::stdin().is_terminal() {
            return Ok(Self::Piped(std::io::stdin().lock().lines()));
        }
        let config = Config::builder().max_history_size(HISTORY_LINES)?.history_ignore_space(true).build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(LineHelper::new(reference::functions().iter().map(|function| function.name.clone()).collect())));
        let history = history();
        if let Some(history) = &history {
            let _ = editor.load_history(history); // The file is missing the first time.
        }
        output::note(
            Style::stderr().dim("Variables and functions stay. Tab completes names, Ctrl-C stops a script, Ctrl-D ends, help says more."),
        );
        Ok(Self::Typed { editor: Box::new(editor), history })
    }

    /// Returns the next line, or several that belong together.
    fn next(&mut self) -> anyhow::Result<Option<String>> {
        match self {
            Self::Typed { editor, .. } => loop {
                match editor.readline("> ") {
                    Ok(line) => {
                        let _ = editor.add_history_entry(&line); // The history is optional.
                        return Ok(Some(line));
                    }
                    Err(ReadlineError::Interrupted) => {}
                    Err(ReadlineError::Eof) => return Ok(None),
                    Err(error) => return Err(error.into()),
                }
            },
            Self::Piped(lines) => {
                let Some(mut text) = lines.next().transpose()? else { return Ok(None) };
                while text.len() < Limits::default().source
                    && !is_complete(&text)
                    && let Some(more) = lines.next().transpose()?
                {
                    text.push('\n');
                    text.push_str(&more);
                }
                Ok(Some(text))
            }
        }
    }

    /// Saves the history.
    fn close(&mut self) {
        let Self::Typed { editor, history: Some(history) } = self else { return };
        let made = history.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(anyhow::Error::from);
        if let Err(error) = made.and_then(|()| Ok(editor.save_history(history)?)) {
            output::note(format!("the history cannot be kept in {}: {error}", history.display()));
        }
    }
}

/// Evaluates a line and shows its log, its result or its error.
async fn evaluate(engine: &mut Child, line: String, is_typed: bool) -> anyhow::Result<()> {
    let job = EngineJob {
        job_id: JobId::random(),
        caller_id: String::new(),
        context_id: ContextId::default(),
        attempt: 1,
        script: line,
        args: None,
        env: BTreeMap::new(),
        timeout: EngineJob::MAX_RUN_TIME,
    };
    let stop = CancellationToken::new();
    let mut shown = Shown;
    let ended = {
        let running = engine.evaluate(&job, &mut shown, &stop);
        tokio::pin!(running);
        tokio::select! {
            ended = &mut running => ended,
            // Without a user at the terminal, Ctrl-C ends the program.
            _ = tokio::signal::ctrl_c(), if is_typed => {
                stop.cancel();
                running.await
            }
        }
    };
    match ended {
        Ok(outcome) => match outcome.result {
            Ok(output) if output.text.is_empty() => {}
            Ok(output) => output::text(&output.text)?,
            Err(error) => render(Style::stderr(), NAME, &job.script, None, &error).into_iter().for_each(output::note),
        },
        Err(died) => output::note(Style::stderr().red(died.to_string())),
    }
    Ok(())
}

/// Prints log lines immediately.
struct Shown;

impl Host for Shown {
    fn log(&mut self, records: Vec<LogRecord>) {
        let style = Style::stderr();
        for record in records {
            for line in record.text.split('\n') {
                output::note(style.level(record.level) + line);
            }
        }
    }
}

/// Returns the path of the history, if the user has a home directory.
fn history() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("hero/repl_history"))
}
