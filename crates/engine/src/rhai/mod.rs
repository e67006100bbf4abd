//! The Rhai engine that runs inside `hero engine`.
//!
//! One thread does everything. It owns the socket, waits on it between jobs, and checks it from inside a running script
//! at most every five milliseconds. A second thread that reads would only cost a thread switch for each job. Rhai
//! objects never leave that thread, so Rhai's `sync` feature stays off.

mod cache;
mod calls;
mod comparing;
mod constants;
mod convert;
mod copy;
pub(crate) mod engine;
mod failure;
mod functions;
#[cfg(any(test, feature = "fuzzing"))]
pub(super) mod fuzzing;
mod heroscript;
mod language;
mod namespaces;
mod native;
mod overrides;
mod pipe;
mod race;
mod run;
mod text;
mod tokens;

use std::process::ExitCode;
use std::rc::Rc;
use std::thread;

use super::frame::{FromEngine, ToEngine};
pub use functions::functions;
use hero_model::{ErrorKind, JobError, Usage};
pub use heroscript::is_heroscript;
use language::Language;
pub use language::{check, check_all};
use pipe::{Pipe, Received};
use run::Run;

/// The stack size of the script thread. Dropping a chain of closures recurses natively, and the stack must suffice for
/// the longest chain that the memory limit allows. Only used pages take memory.
const STACK_BYTES: usize = 256 << 20;

/// The exit code when the engine itself failed.
const FAILED: u8 = 70;

/// The body of the hidden `hero engine`: serves the frames on descriptor 0 until it is closed.
#[expect(clippy::disallowed_macros, reason = "a child says why it failed to its parent, which shows it harmless")]
pub fn engine_main() -> ExitCode {
    // A panic that a script causes becomes the error of that script. Its message would fill a pipe that nobody reads.
    std::panic::set_hook(Box::new(|_| {}));
    let served = thread::Builder::new().name("script".into()).stack_size(STACK_BYTES).spawn(serve).map(thread::JoinHandle::join);
    let failure = match served {
        Ok(Ok(Ok(()))) => return ExitCode::SUCCESS,
        Ok(Ok(Err(error))) => error,
        Ok(Err(panic)) => format!("panic: {}", failure::panic_text(panic.as_ref())),
        Err(error) => format!("no thread: {error}"),
    };
    eprintln!("hero engine: {failure}");
    ExitCode::from(FAILED)
}

fn serve() -> Result<(), String> {
    let pipe = Pipe::open().map_err(|error| format!("descriptor 0 is no socket to serve: {error}"))?;
    let (limits, capabilities) = match pipe.receive() {
        Received::Frame(ToEngine::Hello { limits, capabilities, .. }) => (limits.into_owned(), capabilities.into_owned()),
        Received::Frame(_) => return Err("the first frame is not hello".into()),
        Received::Unreadable(error) => return Err(error),
        Received::End => return Ok(()),
    };
    let confinement = std::env::var(hero_process::confine::CONFINEMENT).unwrap_or_else(|_| "weak: none".into());
    pipe.send(vec![FromEngine::Ready { pid: std::process::id(), confinement }]);

    let run = Rc::new(Run::new(pipe, limits, capabilities));
    let mut language = Language::new(&run);
    loop {
        match run.pipe.receive() {
            Received::Frame(ToEngine::Run { job, in_repl }) => {
                let (result, usage) = language.run(&job, in_repl);
                // The job's values are dropped by now, so memory that is still allocated is cached or leaked.
                drop(job);
                run.finish(result, usage);
            }
            Received::Frame(ToEngine::Check { script, names }) => {
                let error = language.check(&script, names);
                run.pipe.send(vec![FromEngine::Checked { error }]);
            }
            // The frame was sent while its job ended.
            Received::Frame(ToEngine::Stop | ToEngine::Answer { .. }) => {}
            Received::Frame(ToEngine::Hello { .. }) => return Err("hello came twice".into()),
            Received::Unreadable(error) => {
                run.finish(Err(JobError::new(ErrorKind::Unavailable, format!("the engine can't read the job: {error}"))), Usage::default());
            }
            Received::End => return Ok(()),
        }
    }
}
