use std::future::Future;

use futures_util::TryFutureExt;
use futures_util::stream::BoxStream;
use schemars::JsonSchema;
use serde::Serialize;

use super::app::App;
use super::effect::Effect;
use super::error::{Code, Error};
use super::memory::{BatchAnswers, Size};
use super::params::FromParameters;
use crate::session::act::{self, Act};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;

/// The form of a method's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One result.
    Call,
    /// One result, after a wait that the caller chooses.
    Wait,
    /// An id, and then items.
    Subscription,
    /// `true` if the subscription existed, otherwise `false`.
    Unsubscription,
}

/// An example of a call and its result. It is typed, so that it always fits the schema.
pub struct Example<P, R> {
    /// A short description.
    pub name: &'static str,
    /// The parameters.
    pub params: P,
    /// The result.
    pub result: R,
}

/// The circumstances of a call.
#[derive(Debug)]
pub struct Within<'c> {
    /// The answers of its batch, if it is part of a batch.
    pub batch: Option<&'c BatchAnswers>,
    /// Its record in the audit log, for methods that go on after their work is done.
    pub act: &'c mut Act,
}

/// A method: its fields are the parameters, its documentation is the description, its first sentence the summary.
///
/// Fields are in the order of positional parameters, the required ones first; [`Method::LEADING`] may set another order.
pub trait Method<C = App>: FromParameters + Serialize + JsonSchema + Send + Sync + 'static {
    /// The name on the wire, `verb_noun`.
    const NAME: &'static str;
    /// The group in which it is listed.
    const TAG: &'static str;
    /// The permission that a caller needs.
    const PERMISSION: Permission;
    /// The effect of a call, which also decides whether it may be sent again blindly.
    const EFFECT: Effect;
    /// The errors that it can return, besides [`Code::COMMON`].
    const ERRORS: &'static [Code];
    /// Whether the audit log has each call. Of methods that only read it has the refused calls.
    const AUDITED: bool = !matches!(Self::PERMISSION, Permission::Read);
    /// Whether it waits for a job, as long as its caller wants.
    const WAITS: bool = false;
    /// Whether its answer contains a token.
    const TELLS_SECRET: bool = false;
    /// The size of its answer, or of the values that it builds from its parameters. Methods that wait are small, because they may begin at
    /// any time.
    const SIZE: Size = Size::Small;
    /// The first positional parameters, if their order is not that of the fields.
    const LEADING: &'static [&'static str] = &[];
    /// A sentence that describes the result.
    const RESULT: &'static str;
    /// The result.
    type Output: Serialize + JsonSchema + Clone + Send + 'static;

    /// Returns at least one example.
    fn examples() -> Vec<Example<Self, Self::Output>>;

    /// Returns the objects that the call concerns, as far as they decide who may make it.
    fn concern(&self) -> Concern<'_>;

    /// Returns the objects of the call for the audit log, as `kind:id`: ids and names, no contents.
    fn names(&self) -> Option<String> {
        act::named(&self.concern())
    }

    /// Returns the objects that are known only after the call, such as the id of a new one.
    fn made(_: &Self::Output) -> Option<String> {
        None
    }

    /// Executes the method.
    ///
    /// Unless the call is a notification, the future is dropped at any await when the caller's connection closes. So work that must not be
    /// left half done belongs to the lower floors.
    fn call(self, app: &C, session: &Session) -> impl Future<Output = Result<Self::Output, Error>> + Send;

    /// Like [`Self::call`], but for methods that depend on their circumstances.
    fn call_within(self, app: &C, session: &Session, _: Within<'_>) -> impl Future<Output = Result<Self::Output, Error>> + Send {
        self.call(app, session)
    }

    /// Like [`Self::call`], but for a notification: its caller wants no answer, so the method waits for nothing.
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
    /// The group in which it is listed.
    const TAG: &'static str;
    /// The permission that a caller needs.
    const PERMISSION: Permission;
    /// The errors that it can return when it cannot begin, besides [`Code::COMMON`].
    const ERRORS: &'static [Code];
    /// The content of the notifications.
    type Item: Serialize + JsonSchema + Send + 'static;

    /// Returns at least one example; its result is an item.
    fn examples() -> Vec<Example<Self, Self::Item>>;

    /// Returns the objects that it concerns, as far as they decide who may subscribe.
    fn concern(&self) -> Concern<'_>;

    /// Begins. The server requests the next item only when the one before is on its way.
    fn open(self, app: &C, session: &Session) -> impl Future<Output = Result<Items<Self::Item>, Error>> + Send;
}

/// The items of a subscription. An error ends it.
pub type Items<T> = BoxStream<'static, Result<T, Error>>;
