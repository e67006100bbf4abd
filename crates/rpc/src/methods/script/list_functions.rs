use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_engine::reference::{self, ScriptFunction};
use hero_model::ScriptType;

/// Lists the functions that scripts have besides those of their language, with parameters, result and an example.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListFunctions {
    /// Only the functions of scripts of this type.
    script_type: Option<ScriptType>,
}

impl Method for ListFunctions {
    const NAME: &'static str = "list_functions";
    const TAG: &'static str = tag::OPERATION;
    const PERMISSION: Permission = Permission::Identity;
    const EFFECT: Effect = Effect::Reads;
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
