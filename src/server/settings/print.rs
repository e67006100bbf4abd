use std::fmt::Write as _;

use figment::value::Value;
use serde_json::{Map, json};

use super::resolve::{Origin, Resolved};
use super::value::without_password;
use super::{Default, Kind};
use crate::model::MASKED;

impl Resolved {
    /// Renders every value with its origin, as a valid TOML file.
    pub fn to_toml(&self) -> String {
        let (tables, rest): (Vec<&Origin>, Vec<&Origin>) = self.origins.iter().partition(|origin| self.is_in_tables(origin));
        let lines: Vec<(String, &str)> = rest.iter().map(|origin| (line(origin), origin.from.as_str())).collect();
        let width = lines.iter().map(|(line, _)| line.chars().count()).filter(|width| *width <= 60).max().unwrap_or_default();
        let mut text = String::new();
        for (line, from) in lines {
            writeln!(text, "{line:width$}  # {from}").expect("writing to a String cannot fail");
        }
        for origin in tables {
            writeln!(text, "\n# {}: {}", origin.setting.name, origin.from).expect("writing to a String cannot fail");
            match origin.setting.kind {
                Kind::Pools => self.pools_to_toml(&mut text),
                Kind::Types(_) => self.script_types_to_toml(&mut text),
                Kind::Contexts(_) => self.contexts_to_toml(&mut text),
                _ => self.endpoints_to_toml(&mut text),
            }
        }
        text
    }

    /// Whether a setting is written as tables, which come last in a TOML file. An empty list of endpoints is one line,
    /// and so are script types and contexts that are only named.
    fn is_in_tables(&self, origin: &Origin) -> bool {
        match origin.setting.kind {
            Kind::Pools => true,
            Kind::Endpoints => !self.settings.context_endpoints.is_empty(),
            Kind::Types(_) => origin.value.as_dict().is_some(),
            Kind::Contexts(_) => !self.settings.of_contexts.is_empty(),
            _ => false,
        }
    }

    fn endpoints_to_toml(&self, text: &mut String) {
        for endpoint in &self.settings.context_endpoints {
            text.push_str("[[context_endpoints]]\n");
            for (name, value) in endpoint.shown(without_password, MASKED) {
                let comment = if name == "redis_password" { "# " } else { "" };
                writeln!(text, "{comment}{name} = {value}").expect("writing to a String cannot fail"); // This JSON is valid TOML.
            }
        }
    }

    fn script_types_to_toml(&self, text: &mut String) {
        for script_type in &self.settings.script_types {
            writeln!(text, "[script_types.{:?}]", script_type.name.as_str()).expect("writing to a String cannot fail");
            for (name, value) in script_type.shown() {
                writeln!(text, "{name} = {value}").expect("writing to a String cannot fail"); // This JSON is valid TOML.
            }
        }
    }

    fn contexts_to_toml(&self, text: &mut String) {
        for context in &self.settings.contexts {
            writeln!(text, "[contexts.{context}]").expect("writing to a String cannot fail");
            let of_context = self.settings.of_contexts.iter().find(|one| one.context == *context);
            for (name, value) in of_context.into_iter().flat_map(|one| one.shown(&self.settings)) {
                writeln!(text, "{name} = {value}").expect("writing to a String cannot fail"); // This JSON is valid TOML.
            }
        }
    }

    fn pools_to_toml(&self, text: &mut String) {
        if self.settings.pools.is_empty() {
            text.push_str("pools = []\n");
        }
        for pool in &self.settings.pools {
            text.push_str("[[pools]]\n");
            let fields = serde_json::to_value(pool).unwrap_or_default();
            for (name, value) in fields.as_object().into_iter().flatten() {
                writeln!(text, "{name} = {value}").expect("writing to a String cannot fail"); // This JSON is valid TOML.
            }
        }
    }

    /// Returns every value with its origin, for programs.
    pub fn to_json(&self) -> serde_json::Value {
        let entry = |origin: &Origin| {
            let value = match origin.setting.kind {
                Kind::Pools => serde_json::to_value(&self.settings.pools).unwrap_or_default(),
                Kind::Endpoints => {
                    let table = |fields: Vec<(&'static str, _)>| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
                    let endpoints = self.settings.context_endpoints.iter().map(|endpoint| endpoint.shown(without_password, MASKED));
                    endpoints.map(|fields| serde_json::Value::Object(table(fields))).collect()
                }
                _ => shown(origin).map_or(json!(null), |value| serde_json::to_value(value).unwrap_or_default()),
            };
            (origin.setting.name.to_owned(), json!({ "value": value, "from": origin.from }))
        };
        self.origins.iter().map(entry).collect::<Map<_, _>>().into()
    }
}

/// Renders one setting as TOML; unset and secret values are commented out.
fn line(origin: &Origin) -> String {
    let name = origin.setting.name;
    let Some(value) = shown(origin) else { return format!("# {name} =") };
    let toml = serde_json::to_string(&value).unwrap_or_default(); // JSON texts, numbers, switches and lists are valid TOML.
    let comment = if origin.setting.kind == Kind::Secret || name == "config" { "# " } else { "" };
    format!("{comment}{name} = {toml}")
}

/// Returns the value to show: numbers as numbers, secrets masked, `None` if not set.
fn shown(origin: &Origin) -> Option<Value> {
    let text = origin.value.as_str();
    if text == Some("") {
        return match (origin.setting.kind, origin.setting.default) {
            (Kind::List(_) | Kind::Types(_) | Kind::Contexts(_) | Kind::Endpoints, Default::None) => {
                Some(Value::from(Vec::<String>::new()))
            }
            _ => None,
        };
    }
    Some(match (origin.setting.kind, text) {
        (Kind::Secret, _) => MASKED.into(),
        (Kind::List(_) | Kind::Types(_) | Kind::Contexts(_), Some(text)) => text.split(',').map(str::trim).collect::<Vec<_>>().into(),
        (Kind::Switch, Some(text)) if matches!(text, "true" | "false") => (text == "true").into(),
        (Kind::One("N"), Some(text)) if text.parse::<u64>().is_ok() => text.parse::<u64>().unwrap_or_default().into(),
        (_, Some(text)) if origin.setting.name == "redis" => without_password(text).into(),
        _ => origin.value.clone(),
    })
}
