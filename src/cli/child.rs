use std::process::ExitCode;

/// Runs this process as a child of hero, if it was started as one: `hero engine` or `hero exec PROFILE -- command`.
///
/// Both are hidden, speak over inherited descriptors only, and must not find a thread, a runtime or a log.
pub(super) fn main() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next()?.to_str()? {
        "engine" => Some(crate::engine::engine_main()),
        "exec" => Some(crate::process::confine::exec_main(arguments)),
        _ => None,
    }
}
