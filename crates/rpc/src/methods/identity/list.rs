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
use hero_model::IdentityPage;

/// Lists identities by number. Where callers log in, you see only yourself and identities with a role in a context in
/// which you have one. A page may have fewer identities than `limit` although more follow.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListIdentities {
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
    /// The maximum number of identities.
    #[serde(default)]
    limit: PageSize,
}

impl Method for ListIdentities {
    const NAME: &'static str = "list_identities";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Identity;
    const EFFECT: Effect = Effect::Reads;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The identities.";
    type Output = IdentityPage;

    fn examples() -> Vec<Example<Self, IdentityPage>> {
        let params = Self { cursor: None, limit: PageSize::default() };
        vec![Example { name: "identities", params, result: IdentityPage { identities: vec![sample::identity()], next_cursor: None } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, app: &App, session: &Session) -> Result<IdentityPage, Error> {
        let viewer = session.principal().login().map(Login::identity);
        Ok(app.authority.identities(viewer, self.cursor.as_deref(), self.limit.get()).await?)
    }
}
