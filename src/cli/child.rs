use std::io::IsTerminal as _;
use std::process::ExitCode;

/// Runs this process as a child of hero, if it was started as `hero engine`, `hero supervisor`, `hero keep` or `hero
/// exec PROFILE -- command`.
///
/// These commands are hidden, communicate only over inherited descriptors, and must run before any thread, runtime or
/// log exists.
pub(super) fn main() -> Option<ExitCode> {
    // A parent gives each of them a socket, a pipe or nothing there. To people they are unknown commands.
    if std::io::stdin().is_terminal() {
        return None;
    }
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
