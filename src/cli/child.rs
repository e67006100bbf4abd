use std::process::ExitCode;

/// Runs this process as a child of hero, if it was started as one: `hero engine`, `hero supervisor`, `hero keep`
/// or `hero exec PROFILE -- command`.
///
/// They are hidden, speak over inherited descriptors only, and must find no thread, runtime or log.
pub(super) fn main() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next()?.to_str()? {
        "engine" => Some(crate::engine::engine_main()),
        "supervisor" => Some(crate::engine::supervisor_main()),
        "confinement" => Some(crate::engine::confinement_main()),
        "keep" => Some(crate::process::keep::keep_main(arguments)),
        "exec" => Some(crate::process::confine::exec_main(arguments)),
        _ => None,
    }
}
