//! The parameters of each call and subscription. `make clients` writes these structs from `openrpc.json`.
//!
//! ```no_run
//! use hero_client::calls::ListJobs;
//! # async fn list(client: hero_client::Client) -> Result<(), hero_client::Error> {
//! let page = client.call(&ListJobs { limit: Some(5), ..ListJobs::default() }).await?;
//! println!("{:?}", page.jobs);
//! # Ok(())
//! # }
//! ```

mod access;
mod coordinator;
mod flows;
mod jobs;
mod objects;
mod operation;
mod schedules;
mod subscriptions;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::item::Followable;

pub use access::*;
pub use coordinator::*;
pub use flows::*;
pub use jobs::*;
pub use objects::*;
pub use operation::*;
pub use schedules::*;
pub use subscriptions::*;

/// A call, serialised to its parameters. [`super::Client::call`] sends it.
pub trait Call: Serialize {
    /// The name of the method.
    const NAME: &'static str;
    /// The type of the result.
    type Output: DeserializeOwned;
}

/// A subscription, serialised to its parameters except the cursor. [`super::Client::follow`] opens it.
pub trait Subscription: Serialize {
    /// The method that opens it is `subscribe_{TOPIC}`.
    const TOPIC: &'static str;
    /// The type of the items.
    type Item: Followable;
}
