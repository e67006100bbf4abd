use std::sync::LazyLock;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

/// The methods that are tools, in the order of the document. Other methods are for programs, which call them by
/// JSON-RPC: each tool costs the attention of a model.
const TOOLS: [&str; 27] = [
    "run_and_wait",
    "wait_job",
    "stop_job",
    "retry_job",
    "get_job",
    "get_result",
    "get_logs",
    "list_jobs",
    "explain_job",
    "run_flow_and_wait",
    "wait_flow",
    "get_flow",
    "list_flows",
    "stop_flow",
    "retry_flow",
    "create_schedule",
    "list_schedules",
    "delete_schedule",
    "set_object",
    "get_object",
    "find_objects",
    "list_collections",
    "whoami",
    "list_actors",
    "list_functions",
    "check_script",
    "list_queues",
];

/// The paths of shared schemas in the document, and in a tool.
const COMPONENT: &str = "#/components/schemas/";
const DEFINITION: &str = "#/$defs/";

/// Returns the tools, built from the document that describes the methods.
pub(super) fn tools() -> &'static [Tool] {
    static MADE: LazyLock<Vec<Tool>> = LazyLock::new(|| {
        let document: Value = serde_json::from_str(hero_rpc::document()).expect("the document is JSON");
        let methods = document["methods"].as_array().into_iter().flatten();
        methods.filter(|method| TOOLS.iter().any(|name| method["name"] == *name)).map(|method| tool(method, &document)).collect()
    });
    &MADE
}

/// Returns the tool with this name.
pub(super) fn tool_of(name: &str) -> Option<&'static Tool> {
    tools().iter().find(|tool| tool.name == name)
}

fn tool(method: &Value, document: &Value) -> Tool {
    let text = |name: &str| method[name].as_str().unwrap_or_default().to_owned();
    let description = format!("{} Gives: {}", text("description"), method["result"]["description"].as_str().unwrap_or_default());
    Tool::new(text("name"), description, input_schema(method, document)).with_annotations(annotations(&text("x-effect")))
}

/// Returns the hints that a client may check before it lets a model call a tool.
fn annotations(effect: &str) -> ToolAnnotations {
    let (reads, destroys, repeats) = match effect {
        "reads" => (true, false, true),
        "adds" => (false, false, false),
        "replaces" => (false, true, true),
        // The effect of a script is unknown.
        _ => (false, true, false),
    };
    ToolAnnotations::new().read_only(reads).destructive(destroys).idempotent(repeats)
}

/// Returns the parameters of a method as one schema, with the schemas that they refer to.
fn input_schema(method: &Value, document: &Value) -> JsonObject {
    let (mut properties, mut required, mut open) = (Map::new(), Vec::new(), Vec::new());
    for param in method["params"].as_array().into_iter().flatten() {
        let (name, mut schema) = (&param["name"], param["schema"].clone());
        tidy(&mut schema, &mut open);
        // The document has no description beside a reference, but the parameter has one.
        if let (Value::Object(schema), Some(description)) = (&mut schema, param.get("description")) {
            schema.insert("description".to_owned(), description.clone());
        }
        if param["required"] == true {
            required.push(name.clone());
        }
        properties.insert(name.as_str().unwrap_or_default().to_owned(), schema);
    }
    let mut definitions = Map::new();
    while let Some(name) = open.pop() {
        if !definitions.contains_key(&name) {
            let mut schema = document["components"]["schemas"][&name].clone();
            tidy(&mut schema, &mut open);
            definitions.insert(name, schema);
        }
    }
    let mut schema = Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), properties.into())]);
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    schema
}

/// Converts references for a tool, collects their targets, and removes titles, which generators use for names of types.
fn tidy(schema: &mut Value, open: &mut Vec<String>) {
    let Value::Object(map) = schema else { return };
    map.shift_remove("title");
    for (key, value) in map {
        match (key.as_str(), value) {
            ("$ref", Value::String(target)) => {
                if let Some(name) = target.strip_prefix(COMPONENT).map(str::to_owned) {
                    *target = format!("{DEFINITION}{name}");
                    open.push(name);
                }
            }
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(|schema| tidy(schema, open)),
            ("items" | "additionalProperties", schema) => tidy(schema, open),
            ("allOf" | "anyOf" | "oneOf", Value::Array(choices)) => choices.iter_mut().for_each(|schema| tidy(schema, open)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_a_method_whose_schemas_are_whole() {
        let names: Vec<&str> = tools().iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, TOOLS);
        for tool in tools() {
            let schema = tool.schema_as_json_value();
            jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{}: {error}", tool.name));
            assert!(!schema.to_string().contains("#/components"), "{}", tool.name);
            assert!(tool.description.as_ref().is_some_and(|text| text.len() > 40), "{}", tool.name);
        }
    }

    #[test]
    fn a_tool_says_what_its_method_does_to_what_is_there() {
        let hints = |name: &str| {
            let hints = tool_of(name).unwrap().annotations.clone().unwrap();
            (hints.read_only_hint.unwrap(), hints.destructive_hint.unwrap(), hints.idempotent_hint.unwrap())
        };
        assert_eq!(hints("get_logs"), (true, false, true));
        assert_eq!(hints("whoami"), (true, false, true));
        assert_eq!(hints("check_script"), (true, false, true));
        assert_eq!(hints("stop_job"), (false, true, true));
        assert_eq!(hints("delete_schedule"), (false, true, true));
        assert_eq!(hints("run_and_wait"), (false, true, false));
    }
}
