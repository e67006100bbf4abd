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
        description: "Returns a shell command, of one or several lines, to be changed by `silent`, `ignore_error` and `log`, and run by `execute`. With options (`silent`, `log`, and `die: false` for `ignore_error`) it runs the command at once, and returns the result of `execute`.",
        errors: "with options, the same as those of `execute`.",
        example: "run(\"echo one; echo two\").silent().execute().stdout",
        result: r#""one\ntwo\n""#,
    },
    Definition {
        signature: "silent(command: map) -> map",
        description: "Makes a command not log its output.",
        errors: "",
        example: "run(\"echo hello\").silent().execute().success",
        result: "true",
    },
    Definition {
        signature: "ignore_error(command: map) -> map",
        description: "Makes the failure of a command no error: `success` and `code` report it.",
        errors: "",
        example: "run(\"exit 3\").ignore_error().execute().code",
        result: "3",
    },
    Definition {
        signature: "log(command: map) -> map",
        description: "Makes `execute` log the command itself before running it.",
        errors: "",
        example: "run(\"echo hello\").log().execute().success",
        result: "true",
    },
    Definition {
        signature: "execute(command: map) -> map",
        description: "Runs a command in the working directory of the job, waits for its end, and returns `stdout`, `stderr`, `success`, `code` (128 plus the number of the signal, if one ended it) and `truncated`: of each of the two texts only the first 100 KB are kept. The output is logged. It may read the programs of the system and write in the directory of its context. It has no network, 512 MB of memory for each process (less if `process_memory` of the context says so), four times that for all of its processes, at most 256 processes, and the variables of the job. `HOME` and `TMPDIR` are a directory of the job, which is removed with it. Background processes continue until the job ends.",
        errors: "it fails, unless that is ignored; it, or background processes of the job, write more into the directory of the context than there is room for (files_quota); it has too many processes or too much memory; or eight other commands of this job have left processes running.",
        example: "let result = run(\"tr a-z A-Z < name.txt\");\nfile_write(\"name.txt\", \"ada\");\nresult.execute().stdout",
        result: r#""ADA""#,
    },
    Definition {
        signature: "run_command(command: string) -> map",
        description: "Runs a command, like `run(command).execute()`.",
        errors: "the same as those of `execute`.",
        example: "run_command(\"echo hello\").stdout",
        result: r#""hello\n""#,
    },
    Definition {
        signature: "run_silent(command: string) -> map",
        description: "Runs a command, like `run(command).silent().execute()`.",
        errors: "the same as those of `execute`.",
        example: "run_silent(\"echo hello >&2\").stderr",
        result: r#""hello\n""#,
    },
    Definition {
        signature: "process_list(pattern: string) -> array",
        description: "Returns the background processes of this job's commands whose name or command contains a text; all of them if the text is empty. Each is a map: `pid`, `name`, `command`, `memory` in bytes, and `cpu`, its processor time in seconds.",
        errors: "",
        example: "run(\"sleep 100 > /dev/null 2>&1 &\").execute();\nprocess_list(\"sleep\").len()",
        result: "1",
    },
    Definition {
        signature: "process_get(pattern: string) -> map",
        description: "Returns the one process that `process_list` would return.",
        errors: "there is none, or more than one.",
        example: "run(\"sleep 100 > /dev/null 2>&1 &\").execute();\nprocess_get(\"sleep 100\").pid > 1",
        result: "true",
    },
    Definition {
        signature: "kill(pattern: string) -> string",
        description: "Sends SIGTERM to the processes that `process_list` would return, and returns a message that says whether there were any.",
        errors: "the text is empty.",
        example: "run(\"sleep 100 > /dev/null 2>&1 &\").execute();\nkill(\"sleep\")",
        result: r#""Successfully killed processes""#,
    },
    Definition {
        signature: "which(program: string) -> string|nothing",
        description: "Returns the path of a program of the system, or `()` if commands do not find it.",
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
