use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::api::ScriptCheck;
use hero_model::{ContextId, ScriptType};

/// Compiles a script without running it, and reports an error with its location. Unknown functions are errors, too.
///
/// A confined process compiles it, as for jobs. No error is found if the script is neither Rhai nor HeroScript, if this
/// server has no pool for its type, or if compiling takes longer than 5 s.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckScript {
    /// The source code.
    script: String,
    /// The script type that it is written for.
    #[serde(default = "ScriptType::osis")]
    script_type: ScriptType,
    /// The context in which it is to run.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for CheckScript {
    const NAME: &'static str = "check_script";
    const TAG: &'static str = tag::OPERATION;
    // Compiling takes a while, like running.
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::Reads;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "The error of the script, if one was found.";
    type Output = ScriptCheck;

    fn examples() -> Vec<Example<Self, ScriptCheck>> {
        let params = Self { script: "40 + 2".into(), script_type: ScriptType::osis(), context_id: ContextId(0) };
        vec![Example { name: "a script that compiles", params, result: ScriptCheck { error: None } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<ScriptCheck, Error> {
        Ok(ScriptCheck { error: app.dispatcher.jobs().check_script(self.context_id, &self.script_type, &self.script).await? })
    }
}
