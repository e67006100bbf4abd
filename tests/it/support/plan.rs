use std::path::Path;

use hero::dispatch::{self, Dispatcher};
use hero::log_file::LogDirectory;
use hero::model::{ContextId, ServerId};
use hero::store::{Endpoint, Error, Periods, Push, Settings, Store};

/// The settings of a store: the defaults of a server, with changes.
#[derive(Clone)]
pub struct Plan(Settings);

impl Plan {
    /// A new server on the Redis at an endpoint.
    pub fn at(endpoint: Endpoint) -> Self {
        let (server, periods, push) = (ServerId::new(), Periods::default(), Push::default());
        Self(Settings { endpoint, context: ContextId(0), server, periods, queue_limit: 100_000, push })
    }

    /// The store uses this context for its jobs.
    pub fn of(self, context: ContextId) -> Self {
        Self(Settings { context, ..self.0 })
    }

    /// The store acts as this server.
    pub fn named(self, server: ServerId) -> Self {
        Self(Settings { server, ..self.0 })
    }

    /// Sets the retention times.
    pub fn lasting(self, periods: Periods) -> Self {
        Self(Settings { periods, ..self.0 })
    }

    /// Sets the queues for new jobs.
    pub fn pushing(self, push: Push) -> Self {
        Self(Settings { push, ..self.0 })
    }

    /// Sets the maximum number of jobs in its queues.
    pub fn with_room(self, queue_limit: usize) -> Self {
        Self(Settings { queue_limit, ..self.0 })
    }

    /// Returns the store, and the problems of its Redis.
    pub async fn connect(self) -> Result<(Store, Vec<String>), Error> {
        Store::connect(self.0).await
    }

    /// The store.
    pub async fn store(self) -> Store {
        self.connect().await.unwrap().0
    }
}

/// A dispatcher over these stores, with its log files below a directory. It does not run its loops.
pub fn dispatcher(stores: impl IntoIterator<Item = Store>, directory: &Path) -> Dispatcher {
    Dispatcher::new(stores, dispatch::Settings::new(LogDirectory::new(directory.join("logs"))))
}
