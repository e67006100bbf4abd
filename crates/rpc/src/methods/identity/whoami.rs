use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::auth::{Permission, Principal, Session};
use crate::session::guard::Concern;
use hero_model::JobSpec;
use hero_model::api::Who;

/// Returns the caller and its rights.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Whoami {}

impl Method for Whoami {
    const NAME: &'static str = "whoami";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Public;
    const EFFECT: Effect = Effect::Reads;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[];
    const RESULT: &'static str = "The caller and its rights.";
    type Output = Who;

    fn examples() -> Vec<Example<Self, Who>> {
        let result = Who { identity_id: None, operator: false, caller_id: JobSpec::ANONYMOUS.into(), roles: BTreeMap::new() };
        vec![Example { name: "nobody", params: Self {}, result }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, app: &App, session: &Session) -> Result<Who, Error> {
        let caller_id = session.caller_id().unwrap_or_else(|| JobSpec::ANONYMOUS.to_owned());
        Ok(match session.principal() {
            Principal::Identity(login) => {
                let roles = app.authority.roles(login.identity());
                Who { identity_id: Some(login.identity()), operator: false, caller_id, roles }
            }
            Principal::Operator => Who { identity_id: None, operator: true, caller_id, roles: BTreeMap::new() },
            Principal::Anonymous => Who { identity_id: None, operator: false, caller_id, roles: BTreeMap::new() },
        })
    }
}
