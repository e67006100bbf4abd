use std::rc::Rc;

use rhai::{Array, Dynamic, ImmutableString, Map, NativeCallContext};

use super::asking::ask;
use super::definition::{Definition, Functions};
use crate::ProcessCall;
use crate::rhai::native::{Native, excerpt, failed};
use crate::rhai::run::Run;
use hero_model::LogLevel;

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "run(command: string, options?: map) -> map",
        description: "Gives a command of the shell, or several lines of them, to be changed by `silent`, `ignore_error` and `log`, and run by `execute`. With options (`silent`, `log`, and `die: false` for `ignore_error`) it runs at once, and gives what `execute` does.",
        errors: "with options, as those of `execute`.",
        example: "run(\"echo one; echo two\").silent().execute().stdout",
        result: r#""one\ntwo\n""#,
    },
    Definition {
        signature: "silent(command: map) -> map",
        description: "Has a command not log what it writes.",
        errors: "",
        example: "run(\"echo hello\").silent().execute().success",
        result: "true",
    },
    Definition {
        signature: "ignore_error(command: map) -> map",
        description: "Has a command that fails be no error: `success` and `code` tell.",
        errors: "",
        example: "run(\"exit 3\").ignore_error().execute().code",
        result: "3",
    },
    Definition {
        signature: "log(command: map) -> map",
        description: "Has a command be logged itself, before it runs.",
        errors: "",
        example: "run(\"echo hello\").log().execute().success",
        result: "true",
    },
    Definition {
        signature: "execute(command: map) -> map",
        description: "Runs a command in the directory that the job is in, waits for its end, and gives `stdout`, `stderr`, `success`, `code` (128 and the number of the signal, if one ended it) and `truncated`: of each of the two texts the first 100 KB are kept. What it writes is logged. It may read the programs of the system and write in the directory of its context; it has no network, 512 MB of memory for each process (less if `process_memory` of the context says so), four times that for all of its processes, of which there may be 256, and the variables of the job. `HOME` and `TMPDIR` are a directory of the job's own, which is removed with it. What it leaves running goes on until the job ends.",
        errors: "it fails, unless that is ignored; it, or what the job had left running, writes more into the directory of the context than there is room for (files_quota); it has more processes or more memory than it may; or eight others of this job are still running.",
        example: "let result = run(\"tr a-z A-Z < name.txt\");\nfile_write(\"name.txt\", \"ada\");\nresult.execute().stdout",
        result: r#""ADA""#,
    },
    Definition {
        signature: "run_command(command: string) -> map",
        description: "Runs a command, as `run(command).execute()` does.",
        errors: "as those of `execute`.",
        example: "run_command(\"echo hello\").stdout",
        result: r#""hello\n""#,
    },
    Definition {
        signature: "run_silent(command: string) -> map",
        description: "Runs a command, as `run(command).silent().execute()` does.",
        errors: "as those of `execute`.",
        example: "run_silent(\"echo hello >&2\").stderr",
        result: r#""hello\n""#,
    },
    Definition {
        signature: "process_list(pattern: string) -> array",
        description: "Gives the processes that commands of this job have left running and that have a text in their name or command; all, if it is empty. Each is a map: `pid`, `name`, `command`, `memory` in bytes, and `cpu`, the seconds of a processor it has taken.",
        errors: "",
        example: "run(\"sleep 100 > /dev/null 2>&1 &\").execute();\nprocess_list(\"sleep\").len()",
        result: "1",
    },
    Definition {
        signature: "process_get(pattern: string) -> map",
        description: "Gives the one process that `process_list` would.",
        errors: "there is none, or more than one.",
        example: "run(\"sleep 100 > /dev/null 2>&1 &\").execute();\nprocess_get(\"sleep 100\").pid > 1",
        result: "true",
    },
    Definition {
        signature: "kill(pattern: string) -> string",
        description: "Asks the processes to end (SIGTERM) that `process_list` would give, and says whether there were any.",
        errors: "the text is empty.",
        example: "run(\"sleep 100 > /dev/null 2>&1 &\").execute();\nkill(\"sleep\")",
        result: r#""Successfully killed processes""#,
    },
    Definition {
        signature: "which(program: string) -> string|nothing",
        description: "Gives where a program of the system is, or `()` if commands do not find it.",
        errors: "",
        example: "which(\"no-such-program\") == ()",
        result: "true",
    },
];

/// The options of a command.
#[derive(Default)]
struct Options {
    silent: bool,
    ignore_error: bool,
    log: bool,
}

impl Options {
    /// Parses the options of `run`. A misspelt option is an error, because it would have no effect.
    fn read(context: &NativeCallContext<'_>, given: &Map) -> Native<Self> {
        let mut options = Self::default();
        for (name, value) in given {
            let value = value.as_bool().map_err(|kind| failed(context, format!("{name} is true or false, not {kind}")))?;
            match name.as_str() {
                "silent" => options.silent = value,
                "die" => options.ignore_error = !value,
                "log" => options.log = value,
                _ => return Err(failed(context, format!("{} is no option of run: silent, die and log are", excerpt(name)))),
            }
        }
        Ok(options)
    }
}

pub(super) fn add(functions: &mut Functions<'_>) {
    functions.add("run", |command: ImmutableString| Map::from([("command".into(), command.into())]));
    let run = functions.run();
    functions.add("run", move |context: NativeCallContext, command: ImmutableString, options: Map| {
        execute(&context, &run, &command, &Options::read(&context, &options)?)
    });
    for name in ["silent", "ignore_error", "log"] {
        functions.add(name, move |context: NativeCallContext, mut command: Map| -> Native<Map> {
            if !command.contains_key("command") {
                return Err(failed(&context, format!("{name} belongs before execute: run(\"…\").{name}().execute()")));
            }
            command.insert(name.into(), true.into());
            Ok(command)
        });
    }
    let run = functions.run();
    functions.add("execute", move |context: NativeCallContext, command: Map| {
        let is = |name: &str| command.get(name).is_some_and(|value| value.as_bool() == Ok(true));
        let options = Options { silent: is("silent"), ignore_error: is("ignore_error"), log: is("log") };
        let text = command.get("command").and_then(|text| text.clone().try_cast::<ImmutableString>());
        execute(&context, &run, &text.ok_or_else(|| failed(&context, "that is no command: run(\"…\") makes one"))?, &options)
    });
    for (name, silent) in [("run_command", false), ("run_silent", true)] {
        let run = functions.run();
        functions.add(name, move |context: NativeCallContext, command: ImmutableString| {
            execute(&context, &run, &command, &Options { silent, ..Options::default() })
        });
    }
    let run = functions.run();
    functions.add("process_list", move |context: NativeCallContext, pattern: ImmutableString| {
        ask(&context, &run, ProcessCall::List { pattern: pattern.into_owned() })
    });
    let run = functions.run();
    functions.add("process_get", move |context: NativeCallContext, pattern: ImmutableString| -> Native<Dynamic> {
        let found = ask(&context, &run, ProcessCall::List { pattern: pattern.to_string() })?;
        let mut found = found.try_cast::<Array>().unwrap_or_default();
        match (found.pop(), found.len()) {
            (Some(one), 0) => Ok(one),
            (None, _) => Err(failed(&context, format!("no process of this job has {:?} in its name or command", excerpt(&pattern)))),
            (Some(_), more) => {
                let message = format!("{} processes of this job have {:?} in their name or command", more + 1, excerpt(&pattern));
                Err(failed(&context, message))
            }
        }
    });
    let run = functions.run();
    functions.add("kill", move |context: NativeCallContext, pattern: ImmutableString| {
        ask(&context, &run, ProcessCall::Kill { pattern: pattern.into_owned() })
    });
    let run = functions.run();
    functions.add("which", move |context: NativeCallContext, program: ImmutableString| {
        ask(&context, &run, ProcessCall::Which { program: program.into_owned() })
    });
}

/// Runs a command to its end, and logs its output.
fn execute(context: &NativeCallContext<'_>, run: &Rc<Run>, command: &str, options: &Options) -> Native<Dynamic> {
    if options.log {
        run.log(LogLevel::Info, &format!("run: {command}"));
    }
    let result = ask(context, run, ProcessCall::Run { command: command.to_owned() })?;
    let text = |name: &str| {
        let map = result.read_lock::<Map>()?;
        map.get(name)?.clone().try_cast::<ImmutableString>()
    };
    let (stdout, stderr) = (text("stdout").unwrap_or_default(), text("stderr").unwrap_or_default());
    if !options.silent {
        for (level, text) in [(LogLevel::Info, &stdout), (LogLevel::Error, &stderr)] {
            text.lines().for_each(|line| run.log(level, line));
        }
    }
    let code = result.read_lock::<Map>().and_then(|map| map.get("code")?.as_int().ok()).unwrap_or_default();
    if code == 0 || options.ignore_error {
        return Ok(result);
    }
    let why = stderr.lines().rev().find(|line| !line.trim().is_empty()).map_or_else(String::new, |line| format!(": {}", excerpt(line)));
    Err(failed(context, format!("the command ended with code {code}{why}")))
}
