//! The methods and subscriptions: registered, called, described.

mod call;
pub(crate) mod invoker;
pub(crate) mod permissions;
pub(crate) mod subscription;

use std::collections::HashMap;
use std::sync::Arc;

use jsonrpsee::server::{MethodCallback, Methods, RegisterMethodError, RpcModule};
use serde_json::Value;

use super::app::App;
use super::limits::Limits;
use super::memory::Size;
use super::method::{Kind, Method, Subscription};
use super::openrpc::{self, Describer, SchemaOf};
use crate::openrpc::document::OpenRpcDocument;
use crate::session::access::Access;
use crate::session::auth::{Permission, Session};
use call::{AnswerCall, Surroundings, answer, answer_call};
use hero_audit::Audit;
use hero_model::api::Repeatable;

/// The code that the server runs for an entry of the table.
enum Handler<C> {
    Method(AnswerCall<C>),
    /// Registers a subscription in the module that calls it.
    Subscription(fn(&mut RpcModule<C>, &Limits, &Access, &Audit) -> Result<(), RegisterMethodError>),
}

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
    handler: Handler<C>,
    /// Returns the schema of its parameters.
    schema: SchemaOf,
    /// Its first positional parameters, if their order is not that of the schema.
    leading: &'static [&'static str],
    describe: fn(&mut Describer) -> Vec<Value>,
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
            handler: Handler::Method(answer_call::<C, M>),
            schema: M::json_schema,
            leading: M::LEADING,
            describe: openrpc::describe_method::<C, M>,
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
            handler: Handler::Subscription(subscription::register::<C, S>),
            schema: S::json_schema,
            leading: &[],
            describe: openrpc::describe_subscription::<C, S>,
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
        self.definitions
            .iter()
            .filter(subscribes)
            .map(|definition| (definition.name, openrpc::text_parameters(definition.schema)))
            .collect()
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
            let answer_call = match definition.handler {
                Handler::Method(answer_call) => answer_call,
                Handler::Subscription(register) => {
                    register(&mut module, limits, access, audit)?;
                    continue;
                }
            };
            let names = openrpc::parameter_names(definition.schema, definition.leading).into();
            let surroundings = Arc::new(Surroundings { app: Arc::clone(&app), access: access.clone(), audit: audit.clone(), names });
            // This avoids `register_async_method`, which clones the context and the extensions once more for each call.
            let callback = move |id: jsonrpsee::types::Id<'static>, raw: jsonrpsee::types::Params<'static>, _, limit, extensions| {
                answer_call(Arc::clone(&surroundings), id, raw, limit, extensions)
            };
            module.verify_and_insert(definition.name, MethodCallback::Async(Arc::new(callback)))?;
        }
        let document = Arc::clone(document);
        let discover = move |id: jsonrpsee::types::Id<'_>, _: jsonrpsee::types::Params<'_>, limit, extensions: http::Extensions| {
            let address = extensions.get::<Arc<Session>>().and_then(|session| session.server_address());
            answer(&id, document.text(address.as_ref()), limit)
        };
        module.verify_and_insert(DISCOVER, MethodCallback::Sync(Arc::new(discover)))?;
        Ok(module.into())
    }
}

/// The discovery method that OpenRPC prescribes.
const DISCOVER: &str = "rpc.discover";
