#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod files;
mod home;
mod hosts;
mod key_value;
mod net;
mod place;
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

/// What the scripts of a pool may use in one context.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// The files of the context. Processes work among them, too.
    pub files: Option<Files>,
    /// How commands are run.
    pub processes: Option<Processes>,
    /// The network.
    pub net: Option<Net>,
    /// The Redis that the operator named.
    pub redis: Option<Arc<GrantedRedis>>,
}

/// What one attempt of a job does outside.
#[derive(Debug)]
pub struct Session {
    resources: Resources,
    /// The variables that commands get, or why there can be none.
    variables: Result<Variables, String>,
    /// Where the job is, below the directory of its context.
    working: Mutex<PathBuf>,
    running: Running,
    /// Where its commands are at home, once there is one. It comes after what runs, so that that ends first.
    home: OnceCell<Home>,
}

impl Session {
    /// For an attempt of a job whose commands get these variables. If there can be none, whoever runs a command is told why.
    pub fn new(resources: Resources, variables: Result<Variables, String>) -> Arc<Self> {
        Arc::new(Self { resources, variables, working: Mutex::default(), running: Running::default(), home: OnceCell::new() })
    }

    /// Answers a host call about resources. What is not granted is refused. Dropping the future ends what it does.
    pub fn answer(self: &Arc<Self>, call: ResourceCall) -> BoxFuture<'static, Answer> {
        let session = self.clone();
        let lacks = format!("that is for {}", call.needs().who());
        Box::pin(async move {
            let resources = &session.resources;
            match call {
                ResourceCall::Files(call) => match &resources.files {
                    Some(files) => files.answer(&session.working, call).await,
                    None => Err(lacks),
                },
                ResourceCall::Processes(call) => match (&resources.processes, &resources.files) {
                    (Some(processes), Some(files)) => processes.answer(&session, files, call).await,
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

    /// Ends everything that the job has left running, and waits until it has ended. Gives what all its commands used, and, if something that
    /// they left running was ended before and the script has not been told, why.
    pub async fn finish(&self) -> (Used, Option<String>) {
        self.running.end().await
    }

    /// Where the job is, below the directory of its context.
    fn working(&self) -> PathBuf {
        self.working.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Does what may block, in a thread of its own. When nobody waits for it any more, its token is cancelled, which it has to look at often.
async fn blocking<T: Send + 'static>(work: impl FnOnce(&CancellationToken) -> Result<T, String> + Send + 'static) -> Result<T, String> {
    let token = CancellationToken::new();
    let _ended = token.clone().drop_guard();
    spawn_blocking(move || work(&token)).await.unwrap_or_else(|error| Err(format!("it could not be done: {error}")))
}

/// The error of work that nobody waits for any more.
fn unless_cancelled(token: &CancellationToken) -> Result<(), String> {
    if token.is_cancelled() { Err("nobody waits for it any more".to_owned()) } else { Ok(()) }
}
