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
        description: "Creates a child of this job and returns its id. The child runs as soon as this script has returned, unless this job fails; a continuation of this job also waits for it. The map has the parameters of `create_job` without `start`: `script`, and any of `script_type`, `args`, `name`, `timeout` and others. Context and caller are those of this job. If this job runs again, it creates another child; with an `idempotency_key` it gets the same child again.",
        errors: "the map is not a valid job, this attempt has created 1,000 others, or the queue is full.",
        example: "job::spawn(#{ script: \"40 + 2\", name: \"child\" }).len()",
        result: "36",
    },
    Definition {
        signature: "job::then(spec: map) -> string",
        description: "Creates a continuation of this job and returns its id: it runs when this job and all its descendants have ended, even if they failed. The map is like that of `job::spawn`.",
        errors: "the map is not a valid job, or the queue is full.",
        example: "job::then(#{ script: \"print(`after ${args.of}`)\", args: #{ of: JOB_ID } }).len()",
        result: "36",
    },
    Definition {
        signature: "job::progress(value: number, text?: string) -> nothing",
        description: "Reports the progress of this job: a number, usually percent, and a text. Followers of the job see it with 200 characters of the text, at most twice a second; of faster reports, only the last one counts.",
        errors: "the value is not a finite number.",
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
