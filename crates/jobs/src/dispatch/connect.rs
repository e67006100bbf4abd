use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::{Dispatcher, Error, Settings};
use crate::log_file::LogDirectory;
use hero_model::{ContextId, ServerId};
use hero_service as service;
use hero_store::{self as store, Endpoint, Periods, Store, Subscriber};

/// Maximum length of a queue, unless a [`Store`] sets another.
const QUEUE_LIMIT: usize = 100_000;

/// The loops of a dispatcher that [`Dispatcher::connect`] made. They end when this is dropped.
pub struct Loops {
    dispatcher: Dispatcher,
    /// Stops the loops when it is dropped.
    running: DropGuard,
    tasks: TaskTracker,
}

impl Loops {
    /// Ends every wait of the dispatcher with [`Error::StillRunning`], then the loops. The jobs go on.
    pub async fn stop(self) {
        self.dispatcher.close();
        drop(self.running);
        self.tasks.wait().await;
    }
}

impl Dispatcher {
    /// Connects to context 0 of the Redis at `url` (`redis://`, `rediss://` or `unix://`), with the defaults of the
    /// protocol.
    ///
    /// Log files that foreign actors write are read below `logs` in the current directory. Also starts the loops that
    /// wake its waiters and keep jobs moving; any number of processes may run them on one Redis.
    pub async fn connect(url: &str) -> Result<(Self, Loops), Error> {
        let settings = store::Settings {
            endpoint: Endpoint { url: url.to_owned(), ..Endpoint::default() },
            context: ContextId::default(),
            server: ServerId::new(),
            periods: Periods::default(),
            queue_limit: QUEUE_LIMIT,
            push: store::Push::Canonical,
        };
        let (store, warnings) = Store::connect(settings).await?;
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        let dispatcher = Self::new([store.clone()], Settings::new(LogDirectory::new("logs")));
        let shutdown = CancellationToken::new();
        let tasks = dispatcher.start_services(&shutdown);
        tasks.spawn(service::run(Subscriber::new(store, Vec::new()), shutdown.clone()));
        Ok((dispatcher.clone(), Loops { dispatcher, running: shutdown.drop_guard(), tasks }))
    }
}
