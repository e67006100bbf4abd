use std::future::ready;

use futures_util::stream::{Stream, StreamExt, once};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dispatch::{self, Followed};
use crate::rpc::method::Items;

/// What a subscription sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "{T}Notice")]
pub enum Notice<T> {
    /// What was subscribed to.
    Item(T),
    /// Items were lost, because the subscriber reads too slowly or its cursor is too old.
    Lagged {
        /// Always true.
        lagged: bool,
        /// Where to go on from.
        cursor: String,
    },
    /// Nothing will follow: the subscription ended by itself.
    Ended {
        /// Always true.
        ended: bool,
    },
}

impl<T> From<Followed<T>> for Notice<T> {
    fn from(followed: Followed<T>) -> Self {
        match followed {
            Followed::Item(item) => Self::Item(item),
            Followed::Lagged { lagged, cursor } => Self::Lagged { lagged, cursor },
        }
    }
}

/// What the dispatcher follows, as the items of a subscription, with a last one that says that it was the last.
pub(super) fn notices<T: Send + 'static>(
    followed: impl Stream<Item = Result<Followed<T>, dispatch::Error>> + Send + 'static,
) -> Items<Notice<T>> {
    let items = followed.map(|item| item.map(Notice::from).map_err(Into::into));
    items.chain(once(ready(Ok(Notice::Ended { ended: true })))).boxed()
}
