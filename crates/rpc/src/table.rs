//! The methods and subscriptions: registered, called, described.

pub(crate) mod invoker;
pub(crate) mod permissions;
pub(crate) mod subscription;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use jsonrpsee::server::{MethodCallback, MethodResponse, Methods, RegisterMethodError, ResponsePayload, RpcModule};
use jsonrpsee::types::error::OVERSIZED_RESPONSE_CODE;
use serde_json::Value;

use super::app::App;
use super::error::Error;
use super::limits::Limits;
use super::memory::{BatchAnswers, Size};
use super::method::{Kind, Method, Subscription, Within};
use super::openrpc::{self, Describer};
use super::params;
use crate::jsonrpc::entry::{Notified, Secret};
use crate::openrpc::document::OpenRpcDocument;
use crate::session::access::Access;
use crate::session::act::{self, Act};
use crate::session::auth::{Permission, Session};
use hero_audit::Audit;
use hero_model::api::Repeatable;

/// Registers a method or a subscription in the module that calls it.
type Register<C> = fn(&mut RpcModule<C>, &Arc<C>, &Limits, &Access, &Audit) -> Result<(), RegisterMethodError>;

/// One entry of the table.
pub(super) struct Definition<C> {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) permission: Permission,
    audited: bool,
    repeatable: Repeatable,
    size: Size,
    /// The second name of a subscription, which ends it.
    pub(super) unsubscribe: Option<&'static str>,
    register: Register<C>,
    describe: fn(&mut Describer) -> Vec<Value>,
    /// Returns the names of its parameters that are texts.
    texts: fn() -> Vec<String>,
    /// Returns its line of the page about permissions.
    permissions: fn() -> String,
}

/// Every method and subscription, each listed once, in document order.
pub struct Table<C = App> {
    definitions: Vec<Definition<C>>,
}

impl<C: Send + Sync + 'static> Default for Table<C> {
    fn default() -> Self {
        Self { definitions: Vec::new() }
    }
}

impl<C: Send + Sync + 'static> Table<C> {
    /// Returns a table with only `rpc.discover`, which the document does not list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a method.
    pub fn method<M: Method<C>>(mut self) -> Self {
        self.definitions.push(Definition {
            name: M::NAME,
            kind: if M::WAITS { Kind::Wait } else { Kind::Call },
            permission: M::PERMISSION,
            audited: M::AUDITED,
            repeatable: M::EFFECT.repeatable(),
            size: M::SIZE,
            unsubscribe: None,
            register: register_method::<C, M>,
            describe: openrpc::describe_method::<C, M>,
            texts: openrpc::text_parameters::<M>,
            permissions: || {
                M::examples()
                    .first()
                    .map(|example| permissions::line(M::NAME, M::PERMISSION, &example.params.concern()))
                    .unwrap_or_default()
            },
        });
        self
    }

    /// Adds a subscription.
    pub fn subscription<S: Subscription<C>>(mut self) -> Self {
        self.definitions.push(Definition {
            name: S::NAME,
            kind: Kind::Subscription,
            permission: S::PERMISSION,
            audited: false,
            repeatable: Repeatable::Always,
            size: Size::Small,
            unsubscribe: Some(S::UNSUBSCRIBE),
            register: subscription::register::<C, S>,
            describe: openrpc::describe_subscription::<C, S>,
            texts: openrpc::text_parameters::<S>,
            permissions: || {
                S::examples()
                    .first()
                    .map(|example| permissions::line(S::NAME, S::PERMISSION, &example.params.concern()))
                    .unwrap_or_default()
            },
        });
        self
    }

    /// Returns the names, in document order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.definitions.iter().flat_map(|definition| [Some(definition.name), definition.unsubscribe]).flatten()
    }

    /// Returns the names of the methods that subscribe, each with those of its parameters that are texts.
    pub(super) fn subscriptions(&self) -> HashMap<&'static str, Vec<String>> {
        let subscribes = |definition: &&Definition<C>| definition.kind == Kind::Subscription;
        self.definitions.iter().filter(subscribes).map(|definition| (definition.name, (definition.texts)())).collect()
    }

    /// Returns the OpenRPC document, as pretty JSON that ends in a newline.
    pub fn document(&self) -> String {
        format!("{:#}\n", self.describe())
    }

    /// Like [`Self::document`], but without white space, as it is sent.
    pub(super) fn compact_document(&self) -> String {
        self.describe().to_string()
    }

    fn describe(&self) -> Value {
        let mut describer = Describer::new();
        let methods = self.definitions.iter().flat_map(|definition| (definition.describe)(&mut describer)).collect();
        describer.document(methods)
    }

    /// Returns the methods that may be repeated without a check, as a table for people.
    pub(super) fn repeatable(&self) -> String {
        let named = |repeatable| {
            let such = self.definitions.iter().filter(|definition| definition.repeatable == repeatable);
            such.map(|definition| format!("`{}`", definition.name)).collect::<Vec<_>>().join(", ")
        };
        let rows =
            [Repeatable::Always, Repeatable::WithKey, Repeatable::Never].map(|each| format!("| `{}` | {} |\n", each.as_str(), named(each)));
        format!("| `x-repeatable` | methods |\n| --- | --- |\n{}", rows.concat())
    }

    /// Returns the names of methods of which the audit log has every call.
    pub(super) fn audited(&self) -> impl Iterator<Item = &'static str> {
        self.definitions.iter().filter(|definition| definition.audited).map(|definition| definition.name)
    }

    /// Returns the permissions of each method, as a page for people.
    pub fn permissions(&self) -> String {
        let methods = self.definitions.iter().fold(permissions::HEAD.to_owned(), |page, line| page + (line.permissions)().as_str());
        methods + permissions::functions_of_scripts().as_str()
    }

    /// Returns every name with its kind, permission and size, including those that the document does not list.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'static str, Kind, Permission, Size)> {
        let unsubscribe = |name| (name, Kind::Unsubscription, Permission::Public, Size::Small);
        self.definitions
            .iter()
            .flat_map(move |line| [Some((line.name, line.kind, line.permission, line.size)), line.unsubscribe.map(unsubscribe)])
            .flatten()
            .chain([(DISCOVER, Kind::Call, Permission::Public, Size::Medium)])
    }

    /// Registers the methods in a module of jsonrpsee. Fails if a name is listed twice.
    pub(super) fn register(
        &self,
        app: C,
        limits: &Limits,
        access: &Access,
        audit: &Audit,
        document: &Arc<OpenRpcDocument>,
    ) -> Result<Methods, RegisterMethodError> {
        let app = Arc::new(app);
        let mut module = RpcModule::from_arc(Arc::clone(&app));
        for definition in &self.definitions {
            (definition.register)(&mut module, &app, limits, access, audit)?;
        }
        let document = Arc::clone(document);
        let discover = move |id: jsonrpsee::types::Id<'_>, _: jsonrpsee::types::Params<'_>, limit, extensions: http::Extensions| {
            let address = extensions.get::<Arc<Session>>().and_then(|session| session.server_address());
            answer(id, document.text(address.as_ref()), limit)
        };
        module.verify_and_insert(DISCOVER, MethodCallback::Sync(Arc::new(discover)))?;
        Ok(module.into())
    }
}

/// Returns the answer with a result, unless the result is larger than a response may be.
fn answer<T: serde::Serialize + Clone>(id: jsonrpsee::types::Id<'_>, output: T, limit: usize) -> MethodResponse {
    let response = MethodResponse::response(id.clone(), ResponsePayload::success(output), limit);
    if response.as_error_code() != Some(OVERSIZED_RESPONSE_CODE) {
        return response;
    }
    MethodResponse::error(id, Error::AnswerTooLarge(limit).into_object())
}

/// The discovery method that OpenRPC prescribes.
const DISCOVER: &str = "rpc.discover";

fn register_method<C: Send + Sync + 'static, M: Method<C>>(
    module: &mut RpcModule<C>,
    app: &Arc<C>,
    _: &Limits,
    access: &Access,
    audit: &Audit,
) -> Result<(), RegisterMethodError> {
    let (app, access, audit) = (Arc::clone(app), access.clone(), audit.clone());
    let names: Arc<params::Names> = openrpc::parameter_names::<M>(M::LEADING).into();
    // This avoids `register_async_method`, which clones the context and the extensions once more for each call.
    let callback =
        move |id: jsonrpsee::types::Id<'static>, raw: jsonrpsee::types::Params<'static>, _, limit, extensions: http::Extensions| {
            let (app, access, audit) = (Arc::clone(&app), access.clone(), audit.clone());
            let parsed = params::parse::<M>(raw.as_str(), &names);
            async move {
                let answered = match (parsed, extensions.get::<Arc<Session>>()) {
                    (Ok(method), Some(session)) => {
                        let batch = extensions.get::<Arc<BatchAnswers>>().map(AsRef::as_ref);
                        let is_notified = extensions.get::<Notified>().is_some();
                        call(method, &app, session, (&access, &audit), batch, is_notified).await
                    }
                    (Ok(_), None) => Err(Error::Internal),
                    (Err(error), _) => Err(error),
                };
                match answered {
                    Ok(Some(output)) => {
                        let mut response = answer(id, output, limit);
                        if M::TELLS_SECRET {
                            response.extensions_mut().insert(Secret);
                        }
                        response
                    }
                    Ok(None) => MethodResponse::response(id, ResponsePayload::success(()), limit),
                    Err(error) => {
                        let error = if M::PERMISSION == Permission::Read { error.of_a_read() } else { error };
                        MethodResponse::error(id, error.into_object())
                    }
                }
            }
            .boxed()
        };
    module.verify_and_insert(M::NAME, MethodCallback::Async(Arc::new(callback))).map(drop)
}

/// Executes a call if it is allowed, and records it in the audit log. A notification has no answer.
async fn call<C: Send + Sync + 'static, M: Method<C>>(
    method: M,
    app: &C,
    session: &Session,
    (access, audit): (&Access, &Audit),
    batch: Option<&BatchAnswers>,
    is_notified: bool,
) -> Result<Option<M::Output>, Error> {
    // Changes during the check count, too.
    let changes = if M::WAITS { access.changes(session) } else { None };
    let lasting = changes.is_some().then(|| (method.concern().lasting(), method.names()));
    if !access.is_open()
        && let Err(error) = access.allow(session, M::PERMISSION, &method.concern()).await
    {
        act::refused((access, audit), session, M::NAME, Some((&method.concern(), method.names())), &error);
        return Err(error);
    }
    let mut act = match M::AUDITED {
        true => Act::begin(audit, session, (M::NAME, M::PERMISSION), || (method.concern().context(), method.names()))?,
        false => Act::NONE,
    };
    let answering = async {
        match is_notified {
            true => method.notify(app, session, &mut act).await.map(|()| None),
            false => method.call_within(app, session, Within { batch, act: &mut act }).await.map(Some),
        }
    };
    let result = match lasting {
        None => answering.await,
        Some((lasting, names)) => {
            let concern = lasting.concern();
            tokio::select! {
                biased;
                result = answering => result,
                // The wait ends, but the job goes on. The work that the call has done so far is recorded.
                error = access.revoked(session, M::PERMISSION, &concern, changes) => {
                    act::refused((access, audit), session, M::NAME, Some((&concern, names)), &error);
                    return Err(error);
                }
            }
        }
    };
    match &result {
        Ok(output) => act.done(output.as_ref().and_then(M::made)),
        Err(error) => act.failed(error.code()),
    }
    // A call that changes rights is answered after its record is in the file, so that no right exists without a record, even if this
    // process ends.
    if M::AUDITED && !matches!(M::PERMISSION, Permission::Run | Permission::Submit) {
        audit.written().await;
    }
    result
}
