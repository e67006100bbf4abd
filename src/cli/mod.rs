//! The command line: a file per subcommand.
//!
//! Some commands start a server or its actors, most are clients that call a server by JSON-RPC, some need none, and
//! some are hidden. The modules below stand in these groups.

// Start a server or its actors: `serve` and `actor` by settings, `demo` its own, and `bench` too unless one is named.
mod actor;
mod bench;
mod demo;
mod serve;

// Call a server by JSON-RPC, and so does `actor list`.
mod call;
mod context;
mod drain;
mod flow;
mod identity;
mod job;
mod login;
mod mcp;
mod message;
mod object;
mod queue;
mod rights;
mod run;
mod runner;
mod schedule;
mod token;

// Need no server: they read scripts, lines or the files of a server, or print what this program knows.
mod audit;
mod backup;
mod check;
mod completions;
mod docs;
mod functions;
mod openrpc;
mod redis_admin;
mod repl;

// Are hidden: the children of this program, and what shells call to complete ids.
mod candidates;
mod child;

// Are no commands: what commands share.
mod error;
mod global;
mod input;
mod interrupt;
mod local_server;
mod output;
mod watch;

use std::ffi::OsString;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub use crate::exit::Exit;

/// Runs scripts as jobs: a server, its actors, and the commands to use them.
#[derive(Debug, Parser)]
#[command(name = "hero", version, max_term_width = 120)]
#[command(
    after_help = "Exit codes: 0 ok, 1 other error, 2 usage, 3 job failed, 4 job stopped, 5 job timed out, 6 wait timed out, 7 server unreachable, 8 denied, 130 ended by Ctrl-C.

HERO_TOKEN is the bearer token for a server that requires login, or for a proxy in front of it."
)]
struct Cli {
    #[command(flatten)]
    global: global::Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a server with its actors
    Serve(serve::Serve),
    /// Start actors for another machine's server, or list live actors
    Actor(actor::ActorCommand),
    /// Make a server stop taking jobs, and exit when its running jobs have ended
    Drain(drain::Drain),
    /// Run a script as a job, show its log and print its result
    Run(Box<run::Run>),
    /// Create, start, watch, stop and list jobs
    #[command(subcommand)]
    Job(job::Job),
    /// Run a file of jobs that depend on each other
    #[command(subcommand)]
    Flow(flow::FlowCommand),
    /// Run jobs repeatedly
    #[command(subcommand)]
    Schedule(schedule::Schedule),
    /// List, pause and resume work queues
    #[command(subcommand)]
    Queue(queue::Queue),
    /// Show and change the objects that scripts have stored
    #[command(subcommand)]
    Object(object::Object),
    /// Create, change and list identities, which are the callers of a server
    #[command(subcommand)]
    Identity(identity::IdentityCommand),
    /// Create, list and revoke tokens, with which callers log in
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Create, change, list and delete contexts: tenants with their own jobs and files
    #[command(subcommand)]
    Context(context::ContextCommand),
    /// Show and change the roles of identities in a context
    #[command(subcommand)]
    Rights(rights::RightsCommand),
    /// Create, change and list runners, which run the jobs of a group here or on another node
    #[command(subcommand)]
    Runner(runner::RunnerCommand),
    /// Send messages to other contexts and nodes, and list received ones
    #[command(subcommand)]
    Message(message::MessageCommand),
    /// Call any method of a server by name, with parameters in JSON
    Call(call::Call),
    /// Give an assistant the methods of a server as tools (MCP), on stdin and stdout
    #[command(after_help = mcp::WHERE)]
    Mcp,
    /// Show the identity for which the server takes you
    Whoami,
    /// Log in with a private key, and print a token for HERO_TOKEN
    Login(login::Login),
    /// Show and verify the audit log, without a server
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Copy a data directory consistently, while its server runs
    Backup(backup::Backup),
    /// Restore a data directory from a copy
    Restore(backup::Restore),
    /// Compile scripts without running them, and show errors with their locations
    Check(check::Check),
    /// List the functions that scripts can call
    Functions(functions::Functions),
    /// Evaluate lines interactively, without a server
    Repl(repl::Repl),
    /// Print the user rules and functions to set up your own Redis for hero
    #[command(subcommand)]
    Redis(redis_admin::RedisCommand),
    /// Print the API description (OpenRPC)
    Openrpc,
    /// Write the documentation as HTML pages, as the server shows at /docs
    Docs(docs::Docs),
    /// Show the whole system in a minute, without leaving anything behind
    Demo,
    /// Measure the speed of a server
    Bench(bench::Bench),
    /// Print shell completions, which also offer the ids of jobs
    #[command(after_help = completions::WHERE)]
    Completions(completions::Completions),
}

/// Runs the program: reads the arguments, runs the command, returns the exit code.
pub fn main() -> ExitCode {
    // The children of this program come first: before a runtime, a thread or a log exists.
    if let Some(code) = child::main() {
        return code;
    }
    let arguments = crate::process::arguments(&["--redis", "--context-endpoint"]);
    if let Some(candidates) = candidates::Candidates::asked(&arguments) {
        return ExitCode::from(client(candidates.main()).unwrap_or(Exit::Other) as u8);
    }
    let cli = match parsed(&arguments) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && asks_for_json(&arguments) => {
            error::report::refused(&error);
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8));
        }
        Err(error) => {
            let _ = tell(&error, &arguments); // There is no other place to report a failure.
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8));
        }
    };
    let json = cli.global.json;
    input::typed::note(&arguments);
    let exit = dispatch(cli).unwrap_or_else(|error| error::report::report(&error, json));
    ExitCode::from(exit as u8)
}

/// Parses arguments. Wherever a value is expected, a negative number is one: clap would take it for an option.
fn parsed(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Cli, clap::Error> {
    let mut command = with_negative_numbers(Cli::command());
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let matches = command.try_get_matches_from_mut(&arguments).map_err(|error| error::tip::with_tip(error, &arguments))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Puts the words of a number that cannot be read into plain ones.
fn plain(said: &str) -> String {
    said.replace("invalid digit found in string", "a whole number is expected")
        .replace("cannot parse integer from empty string", "a whole number is expected")
        .replace("number too large to fit in target type", "the number is too large")
}

fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let takes_value = |argument: &clap::Arg| argument.get_action().takes_values();
    let command = command.mut_args(|argument| if takes_value(&argument) { argument.allow_negative_numbers(true) } else { argument });
    command.mut_subcommands(with_negative_numbers)
}

/// Prints help, the version, or why arguments were refused. Escapes the arguments first, because a refusal repeats
/// them.
fn tell(error: &clap::Error, arguments: &[OsString]) -> anyhow::Result<()> {
    let harmless = arguments.iter().map(|argument| output::harmless(&argument.to_string_lossy()).into_owned());
    match parsed(harmless) {
        // clap fits help to the terminal.
        Err(same) if same.kind() == error.kind() && !is_refusal(&same) => {
            let said = same.render().to_string();
            match plain(&said) {
                plain if plain == said => same.print()?,
                plain => plain.trim_end().lines().for_each(output::note),
            }
            Ok(())
        }
        Err(same) if same.kind() == error.kind() => {
            output::refusal(&same.render(), plain);
            Ok(())
        }
        // The escaping removed the error, so show the original one escaped.
        _ => {
            plain(&error.render().to_string()).trim_end().lines().for_each(output::note);
            Ok(())
        }
    }
}

/// Whether refused arguments ask for JSON.
fn asks_for_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json")
}

/// Whether the error is about arguments and shown on a terminal, which may be narrow. Elsewhere clap's text stays as it
/// is.
fn is_refusal(error: &clap::Error) -> bool {
    error.use_stderr() && error.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && output::is_watched()
}

fn dispatch(cli: Cli) -> anyhow::Result<Exit> {
    let global = cli.global;
    let address = global.address();
    let asks = |command: Pin<Box<dyn Future<Output = anyhow::Result<Exit>> + '_>>| {
        global.warn_of_misspelt_variables();
        client(command)
    };
    let patient = |command: Pin<Box<dyn Future<Output = anyhow::Result<Exit>> + '_>>| {
        asks(Box::pin(async {
            match patiently(command, &address).await {
                Err(error) => Err(error::unanswered::explained(error, input::typed::typed(), &address, global.trust()).await),
                exit => exit,
            }
        }))
    };
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
        Command::Mcp => asks(Box::pin(mcp::main(&global))),
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
        Command::Bench(bench) => asks(Box::pin(bench.main(&global))),
        Command::Completions(completions) => completions.main(&mut Cli::command()),
    }
}

/// Runs a client command on one thread, which is faster because calls do not move between threads.
fn client(command: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(command)
}

/// On a terminal, a message is shown if nothing was printed for this long.
const MAX_SILENCE: Duration = Duration::from_secs(2);

async fn patiently<T>(command: impl Future<Output = T>, address: &str) -> T {
    tokio::pin!(command);
    tokio::select! {
        biased;
        ended = &mut command => return ended,
        () = tokio::time::sleep(MAX_SILENCE) => {}
    }
    if output::is_silent() {
        output::note(output::Style::stderr().dim(format!("-- waiting for {} --", crate::client::masked(address))));
    }
    command.await
}
