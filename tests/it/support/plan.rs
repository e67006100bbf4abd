use std::path::Path;

use hero::dispatch::{self, Dispatcher};
use hero::log_file::LogDirectory;
use hero::model::{ContextId, ServerId};
use hero::store::{Endpoint, Error, Periods, Push, Settings, Store};

/// What a store is to be: as that of a server with the defaults, but for what is said.
#[derive(Clone)]
pub struct Plan(Settings);

impl Plan {
    /// A server of its own on the Redis at an endpoint.
    pub fn at(endpoint: Endpoint) -> Self {
        let (server, periods, push) = (ServerId::new(), Periods::default(), Push::default());
        Self(Settings { endpoint, context: ContextId(0), server, periods, queue_limit: 100_000, push })
    }

    /// Its jobs are those of this context.
    pub fn of(self, context: ContextId) -> Self {
        Self(Settings { context, ..self.0 })
    }

    /// It takes itself for this server.
    pub fn named(self, server: ServerId) -> Self {
        Self(Settings { server, ..self.0 })
    }

    /// Things last so long.
    pub fn lasting(self, periods: Periods) -> Self {
        Self(Settings { periods, ..self.0 })
    }

    /// New jobs go there.
    pub fn pushing(self, push: Push) -> Self {
        Self(Settings { push, ..self.0 })
    }

    /// Its queues take so many jobs.
    pub fn with_room(self, queue_limit: usize) -> Self {
        Self(Settings { queue_limit, ..self.0 })
    }

    /// The store, and what is wrong with its Redis.
    pub async fn connect(self) -> Result<(Store, Vec<String>), Error> {
        Store::connect(self.0).await
    }

    /// The store.
    pub async fn store(self) -> Store {
        self.connect().await.unwrap().0
    }
}

/// A dispatcher over these stores, with its log files below a directory. Its loops do not run.
pub fn dispatcher(stores: impl IntoIterator<Item = Store>, directory: &Path) -> Dispatcher {
    Dispatcher::new(stores, dispatch::Settings::new(LogDirectory::new(directory.join("logs"))))
}
