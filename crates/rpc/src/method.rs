use std::future::Future;

use futures_util::TryFutureExt;
use futures_util::stream::BoxStream;
use schemars::JsonSchema;
use serde::Serialize;

use super::act::{self, Act};
use super::app::App;
use super::auth::{Permission, Session};
use super::effect::Effect;
use super::error::{Code, Error};
use super::guard::Concern;
use super::memory::{BatchAnswers, Size};
use super::params::FromParameters;

/// How a method is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// With one result.
    Call,
    /// With one result, after a wait that the caller chooses.
    Wait,
    /// With an id, and items after it.
    Subscription,
    /// With `true` if there was such a subscription, otherwise `false`.
    Unsubscription,
}

/// A call as it could be made, and what it could give. Typed, so that it always fits the schema.
pub struct Example<P, R> {
    /// What it shows.
    pub name: &'static str,
    /// The parameters.
    pub params: P,
    /// The result.
    pub result: R,
}

/// What surrounds a call.
#[derive(Debug)]
pub struct Within<'c> {
    /// The answers of its batch, if it is one of a batch.
    pub batch: Option<&'c BatchAnswers>,
    /// Its record in the audit log, for methods that are not at their end when they have done what they are for.
    pub act: &'c mut Act,
}

/// A method: its fields are the parameters, its documentation is the description, its first sentence the summary.
///
/// Fields stand in the order of positional parameters, those that are needed first; [`Method::LEADING`] may have another order.
pub trait Method<C = App>: FromParameters + Serialize + JsonSchema + Send + 'static {
    /// The name on the wire, `verb_noun`.
    const NAME: &'static str;
    /// The group it is listed in.
    const TAG: &'static str;
    /// What it needs from the caller.
    const PERMISSION: Permission;
    /// The effect of a call, which also decides whether it may be sent again blindly.
    const EFFECT: Effect;
    /// The errors it can answer, besides [`Code::COMMON`].
    const ERRORS: &'static [Code];
    /// Whether the audit log has each call. What only reads is there when it is refused, and no more.
    const AUDITED: bool = !matches!(Self::PERMISSION, Permission::Read);
    /// Whether it waits for a job, as long as its caller wants.
    const WAITS: bool = false;
    /// Whether its answer has a token.
    const TELLS_SECRET: bool = false;
    /// How large its answer may be, or what is made of its parameters. Methods that wait are small, because they may begin at any time.
    const SIZE: Size = Size::Small;
    /// The first positional parameters, where their order is not that of the fields.
    const LEADING: &'static [&'static str] = &[];
    /// What the result is, as one sentence.
    const RESULT: &'static str;
    /// The result.
    type Output: Serialize + JsonSchema + Clone + Send + 'static;

    /// At least one example.
    fn examples() -> Vec<Example<Self, Self::Output>>;

    /// What the call concerns, as far as that decides who may make it.
    fn concern(&self) -> Concern<'_>;

    /// What the audit log says that the call is about, as `kind:id`: ids and names, no contents.
    fn names(&self) -> Option<String> {
        act::named(&self.concern())
    }

    /// The same where that is known only when it is done, such as the id of something new.
    fn made(_: &Self::Output) -> Option<String> {
        None
    }

    /// Does what the method is for.
    ///
    /// Unless the call is a notification, the future is dropped when the caller's connection closes, at any await. So what must not be
    /// done by halves is done on the floors below.
    fn call(self, app: &C, session: &Session) -> impl Future<Output = Result<Self::Output, Error>> + Send;

    /// Like [`Self::call`], for methods that have to know of their circumstances.
    fn call_within(self, app: &C, session: &Session, _: Within<'_>) -> impl Future<Output = Result<Self::Output, Error>> + Send {
        self.call(app, session)
    }

    /// Like [`Self::call`], for a notification: its caller wants no answer, so nothing is waited for.
    fn notify(self, app: &C, session: &Session, act: &mut Act) -> impl Future<Output = Result<(), Error>> + Send {
        self.call(app, session).map_ok(|output| act.done(Self::made(&output)))
    }
}

/// A subscription: like a [`Method`], but items follow as notifications until it ends or the client unsubscribes.
pub trait Subscription<C = App>: FromParameters + Serialize + JsonSchema + Send + Sync + 'static {
    /// The name of the method that subscribes.
    const NAME: &'static str;
    /// The method of the notifications.
    const NOTIFICATION: &'static str;
    /// The name of the method that ends it; its one parameter is the subscription's id.
    const UNSUBSCRIBE: &'static str;
    /// The group it is listed in.
    const TAG: &'static str;
    /// What it needs from the caller.
    const PERMISSION: Permission;
    /// What it answers when it cannot begin, besides [`Code::COMMON`].
    const ERRORS: &'static [Code];
    /// What the notifications carry.
    type Item: Serialize + JsonSchema + Send + 'static;

    /// At least one example; its result is an item.
    fn examples() -> Vec<Example<Self, Self::Item>>;

    /// What it concerns, as far as that decides who may subscribe.
    fn concern(&self) -> Concern<'_>;

    /// Begins. The stream is asked for the next item only when the one before is on its way.
    fn open(self, app: &C, session: &Session) -> impl Future<Output = Result<Items<Self::Item>, Error>> + Send;
}

/// The items of a subscription. An error is its end.
pub type Items<T> = BoxStream<'static, Result<T, Error>>;
