use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use hero_client::{Client, Error};

/// Opens a connection to the server.
pub type Connect = Arc<dyn Fn() -> BoxFuture<'static, Result<Client, Error>> + Send + Sync>;

/// The connection to the server: opened by the first call of a method, and again after it was lost.
pub(super) struct LazyClient {
    connect: Connect,
    client: Mutex<Option<Client>>,
}

impl LazyClient {
    pub(super) fn new(connect: Connect) -> Self {
        Self { connect, client: Mutex::default() }
    }

    /// Returns a client whose connection is open, as far as this side knows.
    pub(super) async fn client(&self) -> Result<Client, Error> {
        let mut client = self.client.lock().await;
        match &*client {
            Some(open) if !open.is_over() => Ok(open.clone()),
            _ => Ok(client.insert((self.connect)().await?).clone()),
        }
    }
}

impl fmt::Debug for LazyClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyClient").finish_non_exhaustive()
    }
}
