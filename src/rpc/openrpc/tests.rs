use std::collections::HashSet;

use serde_json::Value;

use crate::rpc::{document, table};

fn parsed() -> Value {
    serde_json::from_str(document()).unwrap()
}

/// Every JSON Schema in the document, with the place it stands in.
fn schemas(document: &Value) -> Vec<(String, &Value)> {
    fn inside<'a>(place: &str, schema: &'a Value, all: &mut Vec<(String, &'a Value)>) {
        all.push((place.to_owned(), schema));
        for (key, value) in schema.as_object().into_iter().flatten() {
            match (key.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    properties.iter().for_each(|(name, schema)| inside(&format!("{place}/{name}"), schema, all));
                }
                ("items" | "additionalProperties", Value::Object(_)) => inside(&format!("{place}/{key}"), value, all),
                ("allOf" | "anyOf" | "oneOf", Value::Array(choices)) => {
                    choices.iter().enumerate().for_each(|(at, schema)| inside(&format!("{place}/{key}/{at}"), schema, all));
                }
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        inside(name, schema, &mut all);
    }
    for method in document["methods"].as_array().unwrap() {
        let name = method["name"].as_str().unwrap();
        let notified = method.pointer("/x-subscription/notification/params").and_then(Value::as_array);
        for param in method["params"].as_array().unwrap().iter().chain(notified.into_iter().flatten()) {
            inside(&format!("{name}({})", param["name"]), &param["schema"], &mut all);
        }
        inside(&format!("{name} result"), &method["result"]["schema"], &mut all);
    }
    all
}

/// The schemas are `1_3/schema.json` of npm's `@open-rpc/spec` 1.4.1 and `schema.json` of `@json-schema-tools/meta-schema` 1.8.0,
/// both under Apache-2.0.
#[test]
fn the_document_is_valid() {
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let schema = json(include_str!("../../../tests/it/openrpc_meta_schema.json"));
    let json_schema = json(include_str!("../../../tests/it/json_schema_meta_schema.json"));
    let registry = jsonschema::Registry::new()
        .add("https://meta.json-schema.tools/", json_schema.clone())
        .unwrap()
        .add("https://meta.json-schema.tools", json_schema) // Both are in use.
        .unwrap()
        .prepare()
        .unwrap();
    let validator = jsonschema::options().with_draft(jsonschema::Draft::Draft7).with_registry(&registry).build(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&parsed()).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn the_document_lists_what_is_registered_in_the_order_of_the_table() {
    let document = parsed();
    let listed: Vec<&str> = document["methods"].as_array().unwrap().iter().map(|method| method["name"].as_str().unwrap()).collect();
    assert_eq!(listed, table().names().collect::<Vec<_>>());
    let mut unlisted: Vec<&str> = table().entries().map(|(name, ..)| name).filter(|name| !listed.contains(name)).collect();
    unlisted.sort_unstable();
    assert_eq!(unlisted, ["rpc.discover", "unsubscribe_events", "unsubscribe_job", "unsubscribe_logs"]);
}

#[test]
fn names_have_no_dots_and_every_method_has_what_generators_need() {
    for method in parsed()["methods"].as_array().unwrap() {
        let name = method["name"].as_str().unwrap();
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert!(!method["summary"].as_str().unwrap().is_empty(), "{name}");
        assert!(!method["summary"].as_str().unwrap().contains('\n'), "{name}");
        assert!(!method["examples"].as_array().unwrap().is_empty(), "{name}");
        assert!(method["result"]["schema"].is_object(), "{name}");
        for param in method["params"].as_array().unwrap() {
            assert!(param["description"].is_string(), "{name} {param}");
        }
    }
}

#[test]
fn positions_are_the_order_of_the_fields_and_the_context_comes_last() {
    let document = parsed();
    let names = |method: &str| -> Vec<String> {
        let method = document["methods"].as_array().unwrap().iter().find(|listed| listed["name"] == method).unwrap();
        method["params"].as_array().unwrap().iter().map(|param| param["name"].as_str().unwrap().to_owned()).collect()
    };
    let spec = "script script_type args context_id caller_id group instance priority timeout retries retry_backoff concurrent env_vars \
                prerequisites parent_id predecessor_id run_at log_path idempotency_key retention name labels worker_id dependents \
                client_rpc_id job_id";
    assert_eq!(names("create_job").join(" "), spec);
    assert_eq!(names("run_and_wait").join(" "), format!("{spec} wait_timeout"));
    assert_eq!(names("wait_job"), ["job_id", "wait_timeout", "context_id"]);
    assert_eq!(names("get_logs"), ["job_id", "cursor", "limit", "context_id"]);
    assert_eq!(names("list_jobs"), ["filter", "cursor", "limit", "context_id"]);
    assert_eq!(names("subscribe_logs"), ["job_id", "cursor", "context_id"]);
    for method in document["methods"].as_array().unwrap() {
        let required: Vec<bool> = method["params"].as_array().unwrap().iter().map(|param| param["required"] == true).collect();
        assert!(required.is_sorted_by(|a, b| a >= b), "an optional parameter stands before a required one: {}", method["name"]);
    }
}

#[test]
fn every_schema_has_a_title_of_its_own() {
    let document = parsed();
    let mut titles = HashSet::new();
    for (place, schema) in schemas(&document) {
        if schema.get("$ref").is_none() {
            let title = schema["title"].as_str().unwrap_or_else(|| panic!("{place} has no title: {schema}"));
            assert!(titles.insert(title.to_owned()), "{place}: {title} is taken");
            assert!(title.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{place}: {title}");
        }
    }
}

#[test]
fn schemas_say_nothing_that_generators_misread() {
    let document = parsed();
    for (place, schema) in schemas(&document) {
        assert!(!schema["type"].is_array(), "{place}: {schema}");
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let target = document.pointer(target.strip_prefix('#').unwrap_or_else(|| panic!("{place}: {target} is remote")));
            assert!(target.is_some_and(|target| target["type"] != "string"), "{place}: {schema} is missing or a scalar");
        }
        if schema["type"] == "integer" {
            assert!(schema["maximum"].as_i64().is_some_and(|maximum| maximum < 1 << 53), "{place}: {schema}");
        }
        let choices = schema["oneOf"].as_array().into_iter().flatten().filter(|choice| choice.get("const").is_some());
        let documented: HashSet<bool> = choices.map(|choice| choice.get("description").is_some()).collect();
        assert!(documented.len() <= 1, "{place}: all variants are documented, or none: {schema}");
    }
}

#[test]
fn examples_fit_their_schemas() {
    let document = parsed();
    let check = |place: &str, schema: &Value, value: &Value| {
        let mut root = schema.clone();
        root["components"] = document["components"].clone();
        let validator = jsonschema::options().with_draft(jsonschema::Draft::Draft7).build(&root).unwrap();
        let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{place}: {errors:?} in {value}");
    };
    for method in document["methods"].as_array().unwrap() {
        let name = method["name"].as_str().unwrap();
        for example in method["examples"].as_array().unwrap() {
            for value in example["params"].as_array().unwrap() {
                let param = method["params"].as_array().unwrap().iter().find(|param| param["name"] == value["name"]).unwrap();
                check(name, &param["schema"], &value["value"]);
            }
            check(name, &method["result"]["schema"], &example["result"]["value"]);
        }
        for example in method.pointer("/x-subscription/notification/examples").and_then(Value::as_array).into_iter().flatten() {
            check(name, &method["x-subscription"]["notification"]["params"][1]["schema"], &example["result"]);
        }
    }
}

#[test]
fn the_document_is_the_same_each_time() {
    assert_eq!(table().document(), document());
    assert!(document().ends_with("}\n"));
}

#[test]
fn the_committed_document_is_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openrpc.json");
    if std::env::var_os("UPDATE_OPENRPC").is_some() {
        std::fs::write(path, document()).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == document(), "openrpc.json is stale: run `UPDATE_OPENRPC=1 cargo test --lib openrpc` and look at the difference");
}
