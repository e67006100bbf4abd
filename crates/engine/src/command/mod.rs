//! Engines whose jobs are processes: a supervisor behind the same frames, which starts a process for each job.
//!
//! The supervisor runs no script itself. It writes the job's files, starts the confined process, forwards its output as
//! the log, ends it with everything it started, and reports how it ended. The supervisor, or the first process of its
//! jobs' namespace, adopts processes that a job leaves behind, so nothing outlives a job. When its worker closes the
//! socket, it ends the running job and itself.

mod answer;
mod asking;
mod cause;
mod ending;
mod environment;
mod files;
mod job_process;
mod lines;
mod process;
pub(crate) mod python;
mod result;
pub(crate) mod shell;
mod spawned;
mod starter;
mod usage;
pub(crate) mod v;
mod worker_socket;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Instant;

use rustix::process::Pid;

use super::directory;
use super::environment::fault;
use super::frame::{FromEngine, ToEngine};
use super::limits::size;
use super::{EngineJob, Limits, Program};
use answer::Answer;
use files::JobFiles;
use hero_model::{ErrorKind, JobError, Limit, Output, Usage};
use hero_process::confine::{self, CONFINEMENT, JobRights, JobUser, Profile};
use hero_process::held::Checks;
use hero_process::{Init, OURSELVES};
use job_process::{JobProcess, clear};
pub(super) use result::too_much_memory;
pub(crate) use starter::{Starter, SupervisorDirectories};
use worker_socket::{WorkerMessage, WorkerSocket};

/// The exit code when the supervisor itself failed.
const FAILED: u8 = 70;

/// The body of the hidden `hero supervisor`: serves the frames on descriptor 0 until it is closed. It works in the
/// current directory, which is its own. At the end it removes the directory, unless there are files in it that it did
/// not make.
#[expect(clippy::disallowed_macros, reason = "a child says why it failed to its parent, which shows it harmless")]
pub fn supervisor_main() -> ExitCode {
    let served = std::env::current_dir().map_err(|error| format!("no directory: {error}")).and_then(|directory| serve(&directory));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("hero supervisor: {failure}");
            ExitCode::from(FAILED)
        }
    }
}

/// The body of the hidden `hero confinement`: prints its confinement.
#[expect(clippy::disallowed_macros, reason = "its parent reads what it says")]
pub fn confinement_main() -> ExitCode {
    println!("{}", std::env::var(CONFINEMENT).unwrap_or_default());
    ExitCode::SUCCESS
}

fn serve(directory: &Path) -> Result<(), String> {
    // The lock outlives the supervisor itself, which removes its files there.
    let _lock = directory::lock(directory).map_err(|error| format!("{} was taken for left behind: {error}", directory.display()))?;
    let mut worker = WorkerSocket::open().map_err(|error| format!("descriptor 0 is no socket to serve: {error}"))?;
    let (limits, program) = match worker.next() {
        WorkerMessage::Frame(ToEngine::Hello { limits, program, .. }) => (limits.into_owned(), program.into_owned()),
        WorkerMessage::Frame(_) => return Err("the first frame is not hello".into()),
        WorkerMessage::Unreadable(error) => return Err(error),
        WorkerMessage::Gone => return Ok(()),
    };
    let init = Init::for_children()?;
    let mut supervisor = Supervisor::new(directory, limits, program, init)?;
    let confinement = supervisor.confinement()?;
    worker.say(vec![FromEngine::Ready { pid: std::process::id(), confinement }]);
    loop {
        // A job that was not read when the first process ends was not started.
        worker.wait(supervisor.init.as_ref().map(Init::end));
        if !can_start(supervisor.init.as_ref()) {
            return Err(Lost::FIRST.into());
        }
        let (result, usage) = match worker.next() {
            WorkerMessage::Frame(ToEngine::Run { job, .. }) => match supervisor.run(&job, &mut worker) {
                Ok(done) => done,
                Err(Lost::Worker) => return Ok(()),
                Err(Lost::Engine(why)) => return Err(why.into()),
            },
            WorkerMessage::Frame(ToEngine::Check { .. }) => {
                // Only the program that runs a script knows its errors.
                worker.say(vec![FromEngine::Checked { error: None }]);
                continue;
            }
            // The frame was sent while its job ended.
            WorkerMessage::Frame(ToEngine::Stop | ToEngine::Answer { .. }) => continue,
            WorkerMessage::Frame(ToEngine::Hello { .. }) => return Err("hello came twice".into()),
            WorkerMessage::Unreadable(error) => {
                (Err(JobError::new(ErrorKind::Unavailable, format!("the engine can't read the job: {error}"))), Usage::default())
            }
            WorkerMessage::Gone => return Ok(()),
        };
        worker.say(vec![FromEngine::Done { result, usage, allocated: 0 }]);
    }
}

struct Supervisor {
    directory: PathBuf,
    /// The files and directories that it made there.
    made: Vec<PathBuf>,
    /// The directory that contains those of the jobs.
    jobs: PathBuf,
    limits: Limits,
    starter: Box<dyn Starter>,
    user: JobUser,
    /// `None` if the jobs have no namespace of their own.
    init: Option<Init>,
    checks: Checks,
    /// The number of jobs that it was given.
    count: u64,
}

impl Supervisor {
    fn new(directory: &Path, limits: Limits, program: Program, init: Option<Init>) -> Result<Self, String> {
        let user = JobUser::choose(program.paths(), directory);
        user.admit(directory, JobUser::PASS).map_err(|error| format!("the directory cannot be opened for the user of jobs: {error}"))?;
        let mut made = Vec::new();
        let mut make = |name: &str| {
            let path = directory.join(name);
            let ready = directory::make_private(&path).and_then(|()| user.admit(&path, JobUser::PASS));
            ready.map_err(|error| format!("no directory for {name}: {error}"))?;
            made.push(path.clone());
            Ok::<_, String>(path)
        };
        let checks = Checks::start().map_err(|error| format!("no thread can be started: {error}"))?;
        let jobs = make("jobs")?;
        let starter = program.engine().starter(&mut SupervisorDirectories { make: &mut make, jobs: &jobs, user: &user })?;
        Ok(Self { directory: directory.to_owned(), made, jobs, limits, starter, user, init, checks, count: 0 })
    }

    fn rights(&self, directory: &Path) -> JobRights {
        self.starter.rights(directory, &self.user)
    }

    /// Starts a trial process with the rights of a job and returns its report of confinement.
    fn confinement(&self) -> Result<String, String> {
        let ourselves = std::env::current_exe().map_err(|error| format!("cannot find this program's own file: {error}"))?;
        let profile = Profile::Job(self.rights(&self.jobs));
        let mut command = confine::plain_command(Path::new(OURSELVES), &profile, &ourselves, &["confinement"]);
        command.stdin(Stdio::null()).env_clear();
        let said = command.output().map_err(|error| format!("no process can be started: {error}"))?;
        let text = |bytes| String::from_utf8_lossy(bytes).trim().to_owned();
        if said.status.success() { Ok(text(&said.stdout)) } else { Err(format!("no process can be confined: {}", text(&said.stderr))) }
    }

    /// Runs a job to its end.
    fn run(&mut self, job: &EngineJob, worker: &mut WorkerSocket) -> Done {
        let began = Instant::now();
        if let Some(fault) = fault(job) {
            return refused(fault);
        }
        let of_build = match self.build(job, worker, began) {
            Ok(built) => built,
            Err(done) => return done,
        };
        self.count += 1;
        let files = match JobFiles::create(&self.jobs, self.count, job, self.starter.file(), &self.user) {
            Ok(files) => files,
            Err(error) => return refused(unavailable("the files of the job cannot be written", &error)),
        };
        let process = match self.starter.start(job, &files, &self.limits) {
            Ok(process) => process,
            Err(error) => return not_started(self.init.as_ref(), job, &error),
        };
        self.checks.begin(self.rights(&files.directory).memory, Some(&files.directory));
        let init = self.init.as_ref();
        let spared: Vec<Pid> = self.starter.zygote().into_iter().chain(init.map(Init::pid)).collect();
        let answer = self.starter.answer(&self.limits);
        let mut running = JobProcess { worker, limits: &self.limits, checks: &mut self.checks, spared: &spared, init };
        let ended = running.watch(job, process, answer, began)?;
        if ended.status.is_none() {
            self.starter.give_up_zygote();
        }
        Ok((result::result(&ended, &self.limits), with(ended.usage, of_build)))
    }

    /// Compiles the script of a job if it has to be compiled and was not before. Returns what that used, or how the job
    /// ended before it could run.
    fn build(&mut self, job: &EngineJob, worker: &mut WorkerSocket, began: Instant) -> Result<Usage, Done> {
        let file = self.starter.file().to_owned();
        let Some(compiler) = self.starter.compiler() else { return Ok(Usage::default()) };
        if compiler.has(&job.script) {
            return Ok(Usage::default());
        }
        self.count += 1;
        let nothing = EngineJob { args: None, ..job.clone() };
        let files = JobFiles::create(&self.jobs, self.count, &nothing, &file, &self.user);
        let files = files.map_err(|error| refused(unavailable("the files of the job cannot be written", &error)))?;
        let init = self.init.as_ref();
        let started = compiler.compile(&files).map_err(|error| not_started(init, job, &error))?;
        self.checks.begin(compiler.memory(), Some(&files.directory));
        let spared = init.map(Init::pid);
        let mut process = JobProcess { worker, limits: &self.limits, checks: &mut self.checks, spared: spared.as_slice(), init };
        let ended = process.watch(job, started, Answer::written(&self.limits), began).map_err(Err)?;
        let done = |error| Err(Ok((Err(error), ended.usage)));
        match result::result(&ended, &self.limits) {
            Err(error) if error.kind == ErrorKind::Script => done(compiler.error(&ended.last_lines).unwrap_or(error)),
            Err(error) => done(error),
            Ok(_) => match compiler.keep(&job.script, &files) {
                Ok(()) => Ok(ended.usage),
                Err(error) => done(unavailable("the program cannot be kept", &error)),
            },
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        clear(&[], None, None);
        // If a file cannot be removed, there is nobody to report it to.
        for made in &self.made {
            let _ = directory::remove(made);
        }
        let _ = std::fs::remove_dir(&self.directory);
    }
}

/// The result of a job, unless it is lost.
type Done = Result<(Result<Output, JobError>, Usage), Lost>;

/// Why a job has no result.
enum Lost {
    /// The worker is gone.
    Worker,
    /// The engine has broken, so the job runs again on another one.
    Engine(&'static str),
}

impl Lost {
    const FIRST: &str = "the first process of the namespace of jobs was ended, and nothing can be started without it";
    const ZYGOTE: &str = "the process that scripts are forked from was ended";
}

fn refused(error: JobError) -> Done {
    Ok((Err(error), Usage::default()))
}

/// Adds the usage of an earlier step to that of a job.
fn with(usage: Usage, before: Usage) -> Usage {
    Usage { cpu_us: usage.cpu_us.saturating_add(before.cpu_us), peak_memory: usage.peak_memory.max(before.peak_memory), ..usage }
}

fn unavailable(what: &str, error: &io::Error) -> JobError {
    JobError::new(ErrorKind::Unavailable, format!("{what}: {error}"))
}

/// Whether processes can be started: impossible in a namespace without its first process.
fn can_start(init: Option<&Init>) -> bool {
    init.is_none_or(Init::is_there)
}

/// Returns why there is no process: because of the job, or of the machine.
fn not_started(init: Option<&Init>, job: &EngineJob, error: &io::Error) -> Done {
    if !can_start(init) {
        return Err(Lost::Engine(Lost::FIRST));
    }
    refused(match error.kind() {
        io::ErrorKind::ArgumentListTooLong => {
            let bytes: usize = job.env.iter().map(|(name, value)| name.len() + value.len()).sum();
            let message = format!("env_vars has {}, more than a process can be given", size(bytes));
            JobError { limit: Some(Limit::Memory), ..JobError::new(ErrorKind::Limit, message) }
        }
        _ => unavailable("no process can be started", error),
    })
}
