use rhai::{Dynamic, ImmutableString, Map, NativeCallContext};
use rust_decimal::prelude::ToPrimitive as _;

use super::asking::{ask, json};
use super::definition::{Definition, Functions};
use crate::rhai::convert;
use crate::rhai::native::{Native, failed};
use crate::{HostCall, JobCall};
use hero_model::Progress;

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "job::spawn(spec: map) -> string",
        description: "Creates a child of this job and gives its id. It runs as soon as this script has returned, and not if this job fails; a continuation of this job waits for it, too. The map has what `create_job` takes: `script`, and any of `script_type`, `args`, `name`, `timeout` and others. Context and caller are those of this job. If this job runs again, so does this; an `idempotency_key` gives the same child again.",
        errors: "the map is not what a job may be, this attempt has created 1,000 others, or the queue is full.",
        example: "job::spawn(#{ script: \"40 + 2\", name: \"child\" }).len()",
        result: "36",
    },
    Definition {
        signature: "job::then(spec: map) -> string",
        description: "Creates a continuation of this job and gives its id: it runs when this job and all its descendants have ended, however they did. The map is as that of `job::spawn`.",
        errors: "the map is not what a job may be, or the queue is full.",
        example: "job::then(#{ script: \"print(`after ${args.of}`)\", args: #{ of: JOB_ID } }).len()",
        result: "36",
    },
    Definition {
        signature: "job::progress(value: number, text?: string) -> nothing",
        description: "Says how far this job is: a number, usually percent, and what it is doing. Those who follow the job see it and 200 characters of the text, twice a second at most; what comes faster is passed over, but for the last.",
        errors: "the value is no finite number.",
        example: "job::progress(40, \"reading files\")",
        result: "",
    },
];

pub(super) fn add(functions: &mut Functions<'_>) {
    for (name, as_continuation) in [("job::spawn", false), ("job::then", true)] {
        let run = functions.run();
        functions.add(name, move |context: NativeCallContext, spec: Map| {
            let spec = json(&context, |cap| convert::json_of_map(&spec, cap))?;
            ask(&context, &run, JobCall::Spawn { spec, as_continuation })
        });
    }
    let run = functions.run();
    functions.add("job::progress", move |context: NativeCallContext, value: Dynamic| {
        ask(&context, &run, HostCall::Progress(progress(&context, &value, "")?))
    });
    let run = functions.run();
    functions.add("job::progress", move |context: NativeCallContext, value: Dynamic, text: ImmutableString| {
        ask(&context, &run, HostCall::Progress(progress(&context, &value, &text)?))
    });
}

fn progress(context: &NativeCallContext<'_>, value: &Dynamic, text: &str) -> Native<Progress> {
    let number = value.as_float().ok().or_else(|| value.as_int().ok().map(|number| number as f64));
    let number = number.or_else(|| value.as_decimal().ok().and_then(|decimal| decimal.to_f64()));
    match number.filter(|number| number.is_finite()) {
        Some(value) => Ok(Progress { value, text: text.to_owned() }),
        None => Err(failed(context, "a progress is a finite number, usually percent, and a text")),
    }
}
