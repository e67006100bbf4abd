//! Compiles scripts before they are sent.

use super::language;
use super::script::{Source, as_rhai};
use super::spec::SpecArgs;
use super::typed::of_flow;
use crate::cli::error::script_error::ScriptError;
use crate::exit::{Exit, Usage};
use crate::model::{ErrorKind, JobError, JobSpec};

/// Builds the job of the given arguments and script. Compiles the script before anything is sent; the command ends with
/// `exit` if its syntax is wrong.
///
/// The script is compiled in this process instead of a confined one, because it is the user's own, and another process
/// would make each call slower. Limits are left to the server, whose values may differ. Scripts of types that may not
/// be Rhai are not compiled.
pub(in crate::cli) fn compiled(source: &Source, args: &SpecArgs, exit: Exit) -> anyhow::Result<JobSpec> {
    if let Some(wrong) = source.file().filter(|_| !args.names_type()).and_then(of_flow) {
        return Err(Usage(wrong).into());
    }
    let by_name = source.file().and_then(language::of_file);
    let is_guess = source.file().is_some() && by_name.is_none() && !args.names_type();
    let mut spec = args.spec(source.read()?, by_name)?;
    if spec.script_type.is_built_in() {
        spec.script = as_rhai(spec.script);
    }
    compiles(&spec).map_err(|mut error| {
        if is_guess {
            error.message.push_str("; it was read as Rhai, because the name of the file does not say what it is: --type does");
        }
        ScriptError { file: source.name(), script: spec.script.clone(), error, index: None, exit }
    })?;
    Ok(spec)
}

/// Compiles the scripts of a list of jobs in `file`.
pub(in crate::cli) fn check_all(specs: &[JobSpec], file: &str) -> anyhow::Result<()> {
    for (index, spec) in specs.iter().enumerate() {
        compiles(spec).map_err(|error| {
            let name = spec.name.as_deref().map_or_else(String::new, |name| format!(" ({name})"));
            let file = format!("{file}: jobs[{index}]{name}: script");
            ScriptError { file, script: spec.script.clone(), error, index: Some(index), exit: Exit::Usage }
        })?;
    }
    Ok(())
}

fn compiles(spec: &JobSpec) -> Result<(), JobError> {
    match crate::engine::check(&spec.script, crate::engine::Names::Any) {
        Err(error) if error.kind == ErrorKind::Script && spec.script_type.is_built_in() => Err(error),
        _ => Ok(()),
    }
}
