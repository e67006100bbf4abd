//! The description of a function that scripts may call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Capability, Use};
use hero_model::Json;

/// The types that definitions name, each with its name in definition files of Rhai.
///
/// A `number` is an `int`, a `float` or a decimal number; `nothing` is `()`.
pub const TYPES: [(&str, &str); 10] = [
    ("any", "?"),
    ("array", "Array"),
    ("blob", "Blob"),
    ("bool", "bool"),
    ("float", "float"),
    ("int", "int"),
    ("map", "Map"),
    ("nothing", "()"),
    ("number", "?"),
    ("string", "String"),
];

/// The constants of scripts that need a host call, and the effect of that.
pub const CONSTANTS_THAT_ASK: [(&str, Use); 2] = [("inputs", Use::Inputs), ("SLOT", Use::Itself)];

/// A function that scripts may call.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptFunction {
    /// The name by which it is called, with its namespace if it has one: `osis::get`. In HeroScript that is `!!osis.get`.
    pub name: String,
    /// The subject it belongs to.
    pub group: String,
    /// Its parameters, in order. The first one may also stand before the name: `array.join(", ")`.
    pub parameters: Vec<FunctionParameter>,
    /// The type of its result, or several types with `|` between them; `nothing` is `()`.
    pub returns: String,
    /// Its description.
    pub description: String,
    /// What a script needs to have it; every script has it if absent.
    pub capability: Option<Capability>,
    /// When it fails. Scripts may catch the error.
    pub errors: Option<String>,
    /// A script that uses it.
    pub example: String,
    /// The result of the example, unless it has none or a different one each time.
    pub example_result: Option<Json>,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionParameter {
    /// Its name. Scripts in Rhai give parameters by position, those in HeroScript also by name.
    pub name: String,
    /// The type, or several types with `|` between them.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it is optional.
    #[serde(default)]
    pub optional: bool,
}

impl ScriptFunction {
    /// Returns the signature with types: `name(parameter: type, other?: type) -> type`.
    pub fn signature(&self) -> String {
        let parameter = |one: &FunctionParameter| format!("{}{}: {}", one.name, if one.optional { "?" } else { "" }, one.kind);
        let parameters: Vec<String> = self.parameters.iter().map(parameter).collect();
        format!("{}({}) -> {}", self.name, parameters.join(", "), self.returns)
    }

    /// Describes which scripts have it, for people, unless every script of a job does.
    pub fn who(&self) -> Option<&'static str> {
        self.capability.filter(|capability| *capability != Capability::Jobs).map(Capability::who)
    }

    /// Returns the effect of a call, if it reaches outside of the engine.
    pub fn uses(&self) -> Option<Use> {
        Some(match (self.capability?, &*self.name) {
            (_, "osis::new" | "silent" | "ignore_error" | "log") => return None,
            (_, "osis::get" | "osis::exists" | "osis::list" | "osis::find") => Use::Read,
            (_, "job::spawn" | "job::then") => Use::Spawn,
            (_, "job::progress") => Use::Itself,
            _ => Use::Change,
        })
    }

    /// Returns the namespace and the name in it.
    pub fn parts(&self) -> (Option<&str>, &str) {
        self.name.split_once("::").map_or((None, &self.name), |(namespace, name)| (Some(namespace), name))
    }

    /// Returns the name as one word: `osis_get`.
    pub fn joined(&self) -> String {
        self.name.replace("::", "_")
    }

    /// The number of required parameters.
    pub fn required(&self) -> usize {
        self.parameters.iter().filter(|parameter| !parameter.optional).count()
    }
}
