use rhai::{Dynamic, ImmutableString};

use super::definition::{Definition, Functions};
use crate::Limits;
use crate::rhai::overrides::shown;
use crate::rhai::text;
use hero_model::LogLevel;

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "log_debug(value: any) -> nothing",
        description: "Writes the text of a value into the log, at level debug.",
        errors: "",
        example: "log_debug(`${args.len()} arguments`)",
        result: "",
    },
    Definition {
        signature: "log_info(value: any) -> nothing",
        description: "Writes the text of a value into the log, at level info, as `print` does.",
        errors: "",
        example: r#"log_info("half of it is done")"#,
        result: "",
    },
    Definition {
        signature: "log_warn(value: any) -> nothing",
        description: "Writes the text of a value into the log, at level warn.",
        errors: "",
        example: r#"log_warn("there is no address, the default is taken")"#,
        result: "",
    },
    Definition {
        signature: "log_error(value: any) -> nothing",
        description: "Writes the text of a value into the log, at level error. The script continues.",
        errors: "",
        example: r#"try { throw "no answer"; } catch (error) { log_error(error); }"#,
        result: "",
    },
];

pub(super) fn add(functions: &mut Functions<'_>) {
    let levels =
        [("log_debug", LogLevel::Debug), ("log_info", LogLevel::Info), ("log_warn", LogLevel::Warn), ("log_error", LogLevel::Error)];
    for (name, level) in levels {
        let run = functions.run();
        functions.add(name, move |value: Dynamic| match value.read_lock::<ImmutableString>() {
            Some(text) => run.log(level, &text),
            None => run.log(level, &shown(&run, |out| text::shown(&value, out, Limits::TEXT))),
        });
    }
}
