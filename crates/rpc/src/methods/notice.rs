use std::future::ready;

use futures_util::stream::{Stream, StreamExt, TryStreamExt, once};

use crate::error::Error;
use crate::method::Items;
use hero_jobs::dispatch::Followed;
use hero_model::api::{Ended, Lagged};

/// Converts a stream to the items of a subscription, and adds a last item that marks the end.
pub(super) fn notices<T, E, N>(followed: impl Stream<Item = Result<T, E>> + Send + 'static) -> Items<N>
where
    N: From<T> + From<Ended> + Send + 'static,
    E: Into<Error>,
{
    let items = followed.map(|item| item.map(N::from).map_err(Into::into));
    items.chain(once(ready(Ok(Ended {}.into())))).boxed()
}

/// Like [`notices`], but for a stream that may have gaps.
pub(super) fn notices_and_gaps<T, E, N>(followed: impl Stream<Item = Result<Followed<T>, E>> + Send + 'static) -> Items<N>
where
    N: From<T> + From<Lagged> + From<Ended> + Send + 'static,
    T: 'static,
    E: Into<Error> + 'static,
{
    notices(followed.map_ok(|followed| match followed {
        Followed::Item(item) => N::from(item),
        Followed::Lagged { cursor } => Lagged { cursor }.into(),
    }))
}
