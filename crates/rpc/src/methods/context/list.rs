use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{PageSize, sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_access::Login;
use hero_model::ContextPage;

/// Lists contexts by number: those in which the caller has a role, or all for the operator.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListContexts {
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
    /// The maximum number of contexts.
    #[serde(default)]
    limit: PageSize,
}

impl Method for ListContexts {
    const NAME: &'static str = "list_contexts";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Identity;
    const EFFECT: Effect = Effect::Reads;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The contexts.";
    type Output = ContextPage;

    fn examples() -> Vec<Example<Self, ContextPage>> {
        let params = Self { cursor: None, limit: PageSize::default() };
        vec![Example { name: "contexts", params, result: ContextPage { contexts: vec![sample::context()], next_cursor: None } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, app: &App, session: &Session) -> Result<ContextPage, Error> {
        let identity = session.principal().login().map(Login::identity);
        Ok(app.authority.context_page(identity, self.cursor.as_deref(), self.limit.get())?)
    }
}
