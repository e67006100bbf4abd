//! The functions that scripts may call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tag;
use crate::engine::reference::{self, ScriptFunction};
use crate::model::ScriptType;
use crate::rpc::app::App;
use crate::rpc::auth::{Permission, Session};
use crate::rpc::error::{Code, Error};
use crate::rpc::guard::Concern;
use crate::rpc::memory::Size;
use crate::rpc::method::{Example, Method};

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
