//! The command line: a file per subcommand.
//!
//! `serve` and `actor` start what `crate::server` assembles. Every other command is a client that talks to a server by JSON-RPC.

mod actor;
mod advice;
mod arguments;
mod audit;
mod backup;
mod bench;
mod call;
mod candidates;
mod check;
mod child;
mod choices;
mod completions;
mod context;
mod demo;
mod docs;
mod drain;
mod environment;
mod flow;
mod functions;
mod global;
mod identity;
mod interrupt;
mod job;
mod language;
mod local_server;
mod local_time;
mod login;
mod mcp;
mod message;
mod object;
mod openrpc;
mod output;
mod paging;
mod pair;
mod progress;
mod queue;
mod redis_admin;
mod repl;
mod report;
mod rights;
mod run;
mod runner;
mod schedule;
mod script;
mod script_error;
mod serve;
mod spec;
mod table;
mod token;
mod translate;
mod watch;

use std::ffi::OsString;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, Parser, Subcommand};

pub use crate::exit::Exit;

/// Runs scripts as jobs: a server, its actors, and the commands to use them.
#[derive(Debug, Parser)]
#[command(name = "hero", version, max_term_width = 120)]
#[command(
    after_help = "Exit codes: 0 ok, 1 other error, 2 usage, 3 job failed, 4 job stopped, 5 job timed out, 6 wait ran out, 7 server unreachable, 8 denied, 130 a `hero call` was left by Ctrl-C.

HERO_TOKEN is a bearer token, for a server where callers log in, or a proxy in front of it that asks for one."
)]
struct Cli {
    #[command(flatten)]
    global: global::Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a server with its actors
    Serve(serve::Serve),
    /// Run actors for the jobs of another machine's server, or list live ones
    Actor(actor::Actor),
    /// Have a server take no jobs any more and end when those that run there have ended
    Drain(drain::Drain),
    /// Run a script as a job, show its log and print its result
    Run(Box<run::Run>),
    /// Create, start, follow, stop and find jobs
    #[command(subcommand)]
    Job(job::Job),
    /// Run jobs that wait for each other, as a file describes them
    #[command(subcommand)]
    Flow(flow::FlowCommand),
    /// Have jobs run again and again
    #[command(subcommand)]
    Schedule(schedule::Schedule),
    /// Look at work queues, pause and resume them
    #[command(subcommand)]
    Queue(queue::Queue),
    /// Look at the objects that scripts have stored, and change them
    #[command(subcommand)]
    Object(object::Object),
    /// Make, change and find identities: who may call
    #[command(subcommand)]
    Identity(identity::IdentityCommand),
    /// Make, list and revoke tokens, by which programs say who they are
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Make, change, find and delete contexts: tenants with jobs and files of their own
    #[command(subcommand)]
    Context(context::ContextCommand),
    /// Look at who may do what in a context, and change it
    #[command(subcommand)]
    Rights(rights::RightsCommand),
    /// Make, change and find runners: who runs the jobs of which group, here or elsewhere
    #[command(subcommand)]
    Runner(runner::RunnerCommand),
    /// Send messages to other contexts and nodes, and look at those that came
    #[command(subcommand)]
    Message(message::MessageCommand),
    /// Call any method of a server by its name, with parameters in JSON
    Call(call::Call),
    /// Let an assistant use a server: its methods as tools (MCP), on stdin and stdout
    #[command(after_help = mcp::WHERE)]
    Mcp,
    /// Tell who the server takes you for
    Whoami,
    /// Log in with a private key, and print a token for HERO_TOKEN
    Login(login::Login),
    /// Look at the audit log, and whether it is whole, without a server
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Copy a data directory, consistently, while its server runs
    Backup(backup::Backup),
    /// Make a data directory of a copy
    Restore(backup::Restore),
    /// Compile scripts without running them, and say what is wrong, and where
    Check(check::Check),
    /// Show the functions that scripts may call
    Functions(functions::Functions),
    /// Evaluate lines one after another, without a server
    Repl(repl::Repl),
    /// Print what a Redis of your own is given for hero: the rules of its user, the functions
    #[command(subcommand)]
    Redis(redis_admin::RedisCommand),
    /// Print the description of the wire protocol (OpenRPC)
    Openrpc,
    /// Write the documents as pages to read in a browser, as a server has them at /docs
    Docs(docs::Docs),
    /// Show the whole system at work, in a minute and without leaving anything behind
    Demo,
    /// Measure a server
    Bench(bench::Bench),
    /// Print completions for a shell, which offer the ids of jobs as well
    #[command(after_help = completions::WHERE)]
    Completions(completions::Completions),
}

/// The whole program: reads the arguments, runs the command, gives the exit code.
pub fn main() -> ExitCode {
    // The children of this program come first: before a runtime, a thread or a log exists.
    if let Some(code) = child::main() {
        return code;
    }
    let arguments = crate::process::arguments(&["--redis", "--context-endpoint"]);
    if let Some(candidates) = candidates::Candidates::asked(&arguments) {
        return ExitCode::from(client(candidates.main()).unwrap_or(Exit::Other) as u8);
    }
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && asks_for_json(&arguments) => {
            report::refused(&error);
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8));
        }
        Err(error) => {
            let _ = tell(&error, &arguments); // Nobody is left to tell.
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8));
        }
    };
    let json = cli.global.json;
    let exit = dispatch(cli).unwrap_or_else(|error| report::report(&error, json));
    ExitCode::from(exit as u8)
}

/// Prints help, the version, or why arguments were refused. A refusal repeats arguments, so the arguments are made harmless first.
fn tell(error: &clap::Error, arguments: &[OsString]) -> anyhow::Result<()> {
    let harmless = arguments.iter().map(|argument| output::harmless(&argument.to_string_lossy()).into_owned());
    match Cli::try_parse_from(harmless) {
        // Help fits the terminal by itself.
        Err(same) if same.kind() == error.kind() && !is_refusal(&same) => Ok(same.print()?),
        Err(same) if same.kind() == error.kind() => {
            output::refusal(&same.render());
            Ok(())
        }
        // What is wrong is what was made harmless.
        _ => {
            error.render().to_string().trim_end().lines().for_each(output::note);
            Ok(())
        }
    }
}

/// Whether arguments that cannot be parsed ask for JSON.
fn asks_for_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json")
}

/// Whether it is about arguments, on a terminal that may be narrow; elsewhere it stays as its author wrote it.
fn is_refusal(error: &clap::Error) -> bool {
    error.use_stderr() && error.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && output::is_watched()
}

fn dispatch(cli: Cli) -> anyhow::Result<Exit> {
    let global = cli.global;
    let address = global.address();
    let asks = |command: &Command| {
        use Command::{
            Bench, Call, Context, Drain, Flow, Identity, Job, Login, Mcp, Message, Object, Queue, Rights, Run, Runner, Schedule, Token,
            Whoami,
        };
        matches!(
            command,
            Run(_)
                | Drain(_)
                | Job(_)
                | Flow(_)
                | Schedule(_)
                | Queue(_)
                | Object(_)
                | Identity(_)
                | Token(_)
                | Context(_)
                | Rights(_)
                | Runner(_)
                | Message(_)
                | Call(_)
                | Whoami
                | Login(_)
                | Mcp
                | Bench(_)
        )
    };
    if asks(&cli.command) {
        global.warn_of_misspelt_variables();
    }
    let patient = |command: Pin<Box<dyn Future<Output = anyhow::Result<Exit>> + '_>>| client(patiently(command, &address));
    match cli.command {
        Command::Serve(serve) => serve.main(global.json),
        Command::Actor(actor) => actor.main(&global),
        Command::Drain(drain) => patient(Box::pin(drain.main(&global))),
        Command::Run(run) => patient(Box::pin(run.main(&global))),
        Command::Job(job) => patient(Box::pin(job.main(&global))),
        Command::Flow(flow) => patient(Box::pin(flow.main(&global))),
        Command::Schedule(schedule) => patient(Box::pin(schedule.main(&global))),
        Command::Queue(queue) => patient(Box::pin(queue.main(&global))),
        Command::Object(object) => patient(Box::pin(object.main(&global))),
        Command::Identity(identity) => patient(Box::pin(identity.main(&global))),
        Command::Token(token) => patient(Box::pin(token.main(&global))),
        Command::Context(context) => patient(Box::pin(context.main(&global))),
        Command::Rights(rights) => patient(Box::pin(rights.main(&global))),
        Command::Runner(runner) => patient(Box::pin(runner.main(&global))),
        Command::Message(message) => patient(Box::pin(message.main(&global))),
        Command::Call(call) => patient(Box::pin(call.main(&global))),
        Command::Mcp => client(mcp::main(&global)),
        Command::Whoami => patient(Box::pin(identity::whoami(&global))),
        Command::Login(login) => patient(Box::pin(login.main(&global))),
        Command::Audit(audit) => client(audit.main(&global)),
        Command::Backup(backup) => client(backup.main(global.json)),
        Command::Restore(restore) => client(restore.main(global.json)),
        Command::Check(check) => check.main(global.json),
        Command::Functions(functions) => functions.main(global.json),
        Command::Repl(repl) => client(repl.main()),
        Command::Redis(redis) => redis.main(global.json),
        Command::Openrpc => openrpc::main(),
        Command::Docs(docs) => docs.main(global.json),
        Command::Demo => client(interrupt::interruptible(demo::main(global.json))),
        Command::Bench(bench) => client(bench.main(&global)),
        Command::Completions(completions) => completions.main(&mut Cli::command()),
    }
}

/// Runs a client command. One thread is enough for it, and quicker: no call hops between threads.
fn client(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(command)
}

/// People who look at a terminal are told what they wait for when nothing has come for so long.
const SILENCE: Duration = Duration::from_secs(2);

async fn patiently<T>(command: impl Future<Output = T>, address: &str) -> T {
    tokio::pin!(command);
    tokio::select! {
        biased;
        ended = &mut command => return ended,
        () = tokio::time::sleep(SILENCE) => {}
    }
    if output::is_silent() {
        output::note(output::Style::stderr().dim(format!("-- waiting for {address} --")));
    }
    command.await
}
