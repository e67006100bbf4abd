//! Scripts: the functions that they may call, and what is wrong with them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tag;
use crate::app::App;
use crate::auth::{Permission, Session};
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::memory::Size;
use crate::method::{Example, Method};
use hero_engine::reference::{self, ScriptFunction};
use hero_model::{ContextId, JobError, ScriptType};

/// Lists the functions that scripts have besides those of their language, with what each takes and gives, and an example.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListFunctions {
    /// Only the functions of scripts of this type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ScriptType")]
    script_type: Option<ScriptType>,
}

impl Method for ListFunctions {
    const NAME: &'static str = "list_functions";
    const TAG: &'static str = tag::OPERATION;
    const PERMISSION: Permission = Permission::Identity;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[];
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The functions.";
    type Output = Vec<ScriptFunction>;

    fn examples() -> Vec<Example<Self, Vec<ScriptFunction>>> {
        let script_type = Some(ScriptType::osis());
        let result = reference::functions().iter().filter(|function| function.name == "join").cloned().collect();
        vec![Example { name: "functions", params: Self { script_type }, result }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, _: &App, _: &Session) -> Result<Vec<ScriptFunction>, Error> {
        Ok(reference::functions_of(self.script_type.as_ref()).into_iter().cloned().collect())
    }
}

/// What is wrong with a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptCheck {
    /// What is wrong, and where. Absent if nothing was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "JobError")]
    pub error: Option<JobError>,
}

/// Compiles a script without running it, and says what is wrong with it, and where.
///
/// It is compiled in a confined process, as the scripts of jobs are. Nothing is found in scripts that are not Rhai or HeroScript, or for whose type this server has no
/// pool, and where compiling takes longer than 5 s.
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
    // Compiling takes a while, as running does.
    const PERMISSION: Permission = Permission::Submit;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "What is wrong with the script, if anything was found.";
    type Output = ScriptCheck;

    fn examples() -> Vec<Example<Self, ScriptCheck>> {
        let params = Self { script: "40 + 2".into(), script_type: ScriptType::osis(), context_id: ContextId(0) };
        vec![Example { name: "a script that compiles", params, result: ScriptCheck { error: None } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<ScriptCheck, Error> {
        Ok(ScriptCheck { error: app.dispatcher.check_script(self.context_id, &self.script_type, &self.script).await? })
    }
}
