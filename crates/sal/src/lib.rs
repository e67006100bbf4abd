#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod files;
mod home;
mod hosts;
mod key_value;
mod net;
mod open;
mod processes;
mod running;
mod space;
mod view;
mod walk;
mod whole;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

pub use files::Files;
use hero_engine::environment::Variables;
use hero_engine::{Answer, ResourceCall};
use hero_process::keep::Used;
use hero_store::GrantedRedis;
use home::Home;
pub use hosts::{Hosts, WrongHost};
pub use net::Net;
pub use processes::Processes;
use running::Running;

/// The resources that scripts of a pool may use in one context.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// The files of the context, in which commands also run.
    pub files: Option<Files>,
    /// Runs commands.
    pub processes: Option<Processes>,
    /// The network.
    pub net: Option<Net>,
    /// The Redis that the operator named.
    pub redis: Option<Arc<GrantedRedis>>,
}

/// The resources in use by one attempt of a job.
#[derive(Debug)]
pub struct AttemptResources {
    resources: Resources,
    /// The variables for commands, or the reason why there can be none.
    variables: Result<Variables, String>,
    /// The working directory of the job, below the directory of its context.
    working: Mutex<PathBuf>,
    running: Running,
    /// The home of its commands, once there is one. It comes after `running`, so that the commands end first.
    home: OnceCell<Home>,
}

impl AttemptResources {
    /// For an attempt of a job whose commands get these variables. If there can be none, a call to run a command
    /// returns the reason.
    pub fn new(resources: Resources, variables: Result<Variables, String>) -> Arc<Self> {
        Arc::new(Self { resources, variables, working: Mutex::default(), running: Running::default(), home: OnceCell::new() })
    }

    /// Answers a host call about resources. Refuses a resource that is not granted. Dropping the future ends the work.
    pub fn answer(self: &Arc<Self>, call: ResourceCall) -> BoxFuture<'static, Answer> {
        let attempt = self.clone();
        let lacks = format!("that is for {}", call.needs().who());
        Box::pin(async move {
            let resources = &attempt.resources;
            match call {
                ResourceCall::Files(call) => match &resources.files {
                    Some(files) => files.answer(&attempt.working, call).await,
                    None => Err(lacks),
                },
                ResourceCall::Processes(call) => match (&resources.processes, &resources.files) {
                    (Some(processes), Some(files)) => processes.answer(&attempt, files, call).await,
                    _ => Err(lacks),
                },
                ResourceCall::Net(call) => match &resources.net {
                    Some(net) => net.answer(call).await,
                    None => Err(lacks),
                },
                ResourceCall::Redis(call) => match &resources.redis {
                    Some(redis) => key_value::answer(redis, call).await,
                    None => Err(lacks),
                },
            }
        })
    }

    /// Ends everything that the job has left running, and waits for the end. Returns the usage of all its commands.
    /// Also returns the reason if background processes were ended earlier and the script was not told.
    pub async fn finish(&self) -> (Used, Option<String>) {
        self.running.end().await
    }

    /// The working directory of the job, below the directory of its context.
    fn working(&self) -> PathBuf {
        self.working.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Runs blocking work in a thread of its own. If the caller stops waiting, the token is cancelled. The work must check
/// it often.
async fn blocking<T: Send + 'static>(work: impl FnOnce(&CancellationToken) -> Result<T, String> + Send + 'static) -> Result<T, String> {
    let token = CancellationToken::new();
    let _ended = token.clone().drop_guard();
    spawn_blocking(move || work(&token)).await.unwrap_or_else(|error| Err(format!("it could not be done: {error}")))
}

/// Returns an error if nobody waits for the work any more.
fn unless_cancelled(token: &CancellationToken) -> Result<(), String> {
    if token.is_cancelled() { Err("nobody waits for it any more".to_owned()) } else { Ok(()) }
}
