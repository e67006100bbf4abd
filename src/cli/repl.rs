//! The REPL: lines are evaluated one after another, in an engine of its own and without a server.

use std::collections::BTreeMap;
use std::io::{BufRead as _, IsTerminal as _};
use std::iter::Peekable;
use std::path::PathBuf;
use std::str::Chars;

use anyhow::Context as _;
use clap::Args;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, Helper};
use tokio_util::sync::CancellationToken;

use super::choices::Types;
use super::exit::{Exit, Usage};
use super::output::{self, Style};
use super::script_error::render;
use crate::engine::reference::functions;
use crate::engine::{Capability, Child, EngineJob, EngineSettings, Host, Limits, LogRecord, is_heroscript};
use crate::model::{ContextId, JobId, ScriptType};
use crate::process::Spawner;

/// Which language.
#[derive(Debug, Args)]
pub(super) struct Repl {
    /// The script type of the lines
    #[arg(long = "type", value_name = "TYPE", value_parser = Types, hide_possible_values = true, default_value = "osis")]
    script_type: ScriptType,
}

/// How many lines are kept for the next time.
const HISTORY: usize = 1000;
/// How many expressions in texts a line may have, so that it is looked for their ends. The compiler tells of more.
const DEEPEST: usize = 64;
/// What the lines are called in errors.
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
            if line.trim().is_empty() {
                continue;
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

/// Where the lines come from.
enum Lines {
    /// Somebody types them.
    Typed { editor: Box<Editor<LineHelper, FileHistory>>, history: Option<PathBuf> },
    /// They come from a file or a pipe.
    Piped(std::io::Lines<std::io::StdinLock<'static>>),
}

impl Lines {
    fn open() -> anyhow::Result<Self> {
        if !std::io::stdin().is_terminal() {
            return Ok(Self::Piped(std::io::stdin().lock().lines()));
        }
        let config = Config::builder().max_history_size(HISTORY)?.history_ignore_space(true).build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(LineHelper { names: functions().iter().map(|function| function.name.clone()).collect() }));
        let history = history();
        if let Some(history) = &history {
            let _ = editor.load_history(history); // The first time there is none.
        }
        output::note(Style::stderr().dim("Variables and functions stay. Tab completes names, Ctrl-C stops a script, Ctrl-D ends."));
        Ok(Self::Typed { editor: Box::new(editor), history })
    }

    /// The next line, or several that belong together.
    fn next(&mut self) -> anyhow::Result<Option<String>> {
        match self {
            Self::Typed { editor, .. } => loop {
                match editor.readline("> ") {
                    Ok(line) => {
                        let _ = editor.add_history_entry(&line); // It is a convenience.
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

    /// Keeps what was typed for the next time.
    fn close(&mut self) {
        let Self::Typed { editor, history: Some(history) } = self else { return };
        let made = history.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(anyhow::Error::from);
        if let Err(error) = made.and_then(|()| Ok(editor.save_history(history)?)) {
            output::note(format!("the history cannot be kept in {}: {error}", history.display()));
        }
    }
}

/// Evaluates a line and shows what it logs, gives, or what is wrong with it.
async fn evaluate(engine: &mut Child, line: String, is_typed: bool) -> anyhow::Result<()> {
    let job = EngineJob {
        job_id: JobId::random(),
        caller_id: String::new(),
        context_id: ContextId::default(),
        attempt: 1,
        script: line,
        args: None,
        env: BTreeMap::new(),
        timeout: EngineJob::LONGEST,
    };
    let stop = CancellationToken::new();
    let mut shown = Shown;
    let ended = {
        let running = engine.evaluate(&job, &mut shown, &stop);
        tokio::pin!(running);
        tokio::select! {
            ended = &mut running => ended,
            // Elsewhere it ends the program.
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

/// Shows what is logged at once.
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

/// What the line editor knows of the language.
struct LineHelper {
    names: Vec<String>,
}

impl Helper for LineHelper {}
impl Highlighter for LineHelper {}
impl Hinter for LineHelper {
    type Hint = String;
}

impl Validator for LineHelper {
    /// An open bracket wants another line.
    fn validate(&self, line: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let complete = is_complete(line.input());
        Ok(if complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Completer for LineHelper {
    type Candidate = String;

    /// The functions whose names begin like the word before the cursor.
    fn complete(&self, line: &str, at: usize, _: &rustyline::Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let before = &line[..at];
        let start = before.trim_end_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_').len();
        let word = &before[start..];
        let names = self.names.iter().filter(|name| !word.is_empty() && name.starts_with(word));
        Ok((start, names.cloned().collect()))
    }
}

/// Whether all brackets and texts of a line are closed, as far as can be seen without compiling it.
fn is_complete(line: &str) -> bool {
    is_heroscript(line) || line.matches("${").count() > DEEPEST || is_closed(&mut line.chars().peekable(), false)
}

/// Goes to the end, or behind the bracket that ends an expression in a text. Says whether everything was closed there.
fn is_closed(letters: &mut Peekable<Chars<'_>>, in_text: bool) -> bool {
    let mut open = 0_i64;
    while let Some(letter) = letters.next() {
        match letter {
            '}' if open == 0 && in_text => return true,
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open -= 1,
            '/' if letters.peek() == Some(&'/') => while letters.next_if(|letter| *letter != '\n').is_some() {},
            '/' if letters.peek() == Some(&'*') => {
                letters.next();
                let mut last = None;
                for next in letters.by_ref() {
                    if (last, next) == (Some('*'), '/') {
                        break;
                    }
                    last = Some(next);
                }
            }
            // One character. The compiler says what is wrong with more.
            '\'' => {
                if letters.next() == Some('\\') {
                    letters.next();
                }
                letters.next_if_eq(&'\'');
            }
            '"' => skip_string(letters),
            '`' => loop {
                match letters.next() {
                    Some('`') => break,
                    Some('$') if letters.next_if_eq(&'{').is_some() => {
                        if !is_closed(letters, true) {
                            return false;
                        }
                    }
                    Some(_) => {}
                    None => return false,
                }
            },
            _ => {}
        }
    }
    open <= 0 && !in_text
}

/// Goes behind the end of a text in double quotes. One that has no end does so at the end of its line, which the compiler says.
fn skip_string(letters: &mut Peekable<Chars<'_>>) {
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '"' => return,
            _ => {}
        }
    }
}

/// Where the lines of earlier times are, if the user has a home.
fn history() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("hero/repl_history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_bracket_or_backtick_wants_another_line() {
        for line in [
            "1 + 1",
            "f(1)",
            "{ }",
            "\"(\"",
            "`(`",
            "// (",
            "1 // `\n + 2",
            "`${f(`)`)}`",
            "'{'",
            "'\\''",
            "1 /* ( */",
            "!!join array:['(']",
            "!!a.b text:'{'",
            "\"a\\\"(\"",
            ")",
            "\"open",
        ] {
            assert!(is_complete(line), "{line}");
        }
        for line in ["f(", "fn f() {", "[1,", "`open", "{ // }", "`a` + `b", "`${", "`${f(`x`", "\"a\" + (\"b\""] {
            assert!(!is_complete(line), "{line}");
        }
    }
}
