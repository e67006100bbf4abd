use std::collections::HashSet;

use serde_json::Value;

use crate::{document, table};

fn parsed() -> Value {
    serde_json::from_str(document()).unwrap()
}

/// Returns every JSON Schema in the document, with its place.
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
    let schema = json(include_str!("../../../../tests/it/openrpc_meta_schema.json"));
    let json_schema = json(include_str!("../../../../tests/it/json_schema_meta_schema.json"));
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
    assert_eq!(unlisted, ["rpc.discover"]);
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
        assert!(method["result"]["description"].as_str().is_some_and(|text| text.ends_with('.')), "{name}");
        for param in method["params"].as_array().unwrap() {
            assert!(param["description"].is_string(), "{name} {param}");
        }
    }
}

#[test]
fn the_most_used_parameters_come_first() {
    let document = parsed();
    let names = |method: &str| -> Vec<String> {
        let method = document["methods"].as_array().unwrap().iter().find(|listed| listed["name"] == method).unwrap();
        method["params"].as_array().unwrap().iter().map(|param| param["name"].as_str().unwrap().to_owned()).collect()
    };
    let rest = "timeout retries retry_backoff priority name labels env_vars run_at idempotency_key retention prerequisites parent_id \
                predecessor_id group instance concurrent log_path context_id caller_id worker_id dependents client_rpc_id job_id";
    // New parameters come after these, because callers use their positions.
    let begins = |method: &str, known: String| names(method).join(" ").starts_with(&known);
    assert!(begins("create_job", format!("script script_type args {rest}")), "{:?}", names("create_job"));
    assert!(begins("run_and_wait", format!("script script_type args wait_timeout {rest}")), "{:?}", names("run_and_wait"));
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
            assert!(target.is_some(), "{place}: {schema} is missing");
            assert_eq!(schema.as_object().unwrap().len(), 1, "{place}: beside a reference nothing is read: {schema}");
        }
        assert!(schema.get("allOf").is_none(), "{place}: {schema}");
        assert!(!schema["oneOf"][0]["const"].is_string(), "{place} is no plain enum: {schema}");
        if schema["type"] == "integer" {
            assert!(schema["maximum"].as_i64().is_some_and(|maximum| maximum < 1 << 53), "{place}: {schema}");
        }
    }
}

#[test]
fn components_are_objects_or_plain_enums() {
    let document = parsed();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let is_object = schema["type"] == "object" && schema["properties"].as_object().is_some_and(|properties| !properties.is_empty());
        assert!(is_object || schema["type"] == "string" && schema["enum"].is_array(), "{name}: {schema}");
        assert_eq!(schema["title"], *name, "a component has the title of its name");
    }
}

#[test]
fn what_generators_name_after_methods_and_the_title_is_free() {
    let document = parsed();
    let named = document["methods"].as_array().unwrap().iter().map(|method| &method["name"]).chain([&document["info"]["title"]]);
    let taken: HashSet<String> = named.map(|name| super::schema::camel(name.as_str().unwrap()).to_lowercase()).collect();
    for (place, schema) in schemas(&document) {
        let title = schema["title"].as_str().unwrap_or_default();
        assert!(!taken.contains(&title.to_lowercase()), "{place}: {title} would be two types");
    }
}

#[test]
fn every_method_takes_parameters_by_name_and_by_position_and_says_so() {
    assert!(parsed()["methods"].as_array().unwrap().iter().all(|method| method["paramStructure"] == "either"));
}

#[test]
fn statuses_kinds_and_levels_are_written_once() {
    let document = parsed();
    for (name, words) in [
        ("JobStatus", "created scheduled waiting_for_prerequisites dispatched started finished error"),
        ("ErrorKind", "script timeout stopped limit crashed prerequisite unavailable"),
        ("LogLevel", "debug info warn error"),
        ("ScriptLimit", "operations cpu_time memory log result source"),
        ("Overlap", "skip queue allow"),
        ("Missed", "skip once all"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let with_these = schemas(&document).into_iter().filter(|(_, schema)| schema["enum"] == serde_json::json!(words));
        assert_eq!(with_these.map(|(place, _)| place).collect::<Vec<_>>(), [name]);
        let description = document["components"]["schemas"][name]["description"].as_str().unwrap();
        assert!(words.iter().all(|word| description.contains(&format!("`{word}`: "))), "{name}: {description}");
    }
    assert_eq!(document["components"]["schemas"]["JobResult"]["properties"]["status"]["const"], "finished");
}

#[test]
fn the_kinds_of_a_notice_are_told_apart_by_their_type() {
    let document = parsed();
    let (events, lines) = (&["event", "began", "lagged", "ended"][..], &["line", "lagged", "ended"][..]);
    for (method, expected) in [("subscribe_job", events), ("subscribe_events", events), ("subscribe_logs", lines)] {
        let method = document["methods"].as_array().unwrap().iter().find(|listed| listed["name"] == method).unwrap();
        let kinds = method["x-subscription"]["notification"]["params"][1]["schema"]["oneOf"].as_array().unwrap();
        let kinds = kinds.iter().map(|kind| {
            let kind = document.pointer(kind["$ref"].as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
            assert_eq!(kind["required"][0], "type", "{kind}");
            kind["properties"]["type"]["const"].as_str().unwrap()
        });
        assert_eq!(kinds.collect::<Vec<_>>(), expected, "{}", method["name"]);
    }
}

#[test]
fn every_text_but_those_of_examples_is_one_line() {
    fn look(place: &str, value: &Value) {
        match value {
            Value::String(text) => assert!(!text.contains(['\n', '\r']), "{place}: {text:?}"),
            Value::Array(values) => values.iter().for_each(|value| look(place, value)),
            Value::Object(members) => {
                members.iter().filter(|(key, _)| *key != "examples").for_each(|(key, value)| look(&format!("{place}/{key}"), value));
            }
            _ => {}
        }
    }
    look("", &parsed());
}

#[test]
fn examples_give_each_parameter_up_to_the_last_one_that_says_something() {
    for method in parsed()["methods"].as_array().unwrap() {
        let described = method["params"].as_array().unwrap();
        for example in method["examples"].as_array().unwrap() {
            let given = example["params"].as_array().unwrap();
            for (described, given) in described.iter().zip(given) {
                assert_eq!(described["name"], given["name"], "{}: {example}", method["name"]);
            }
            let (last, place) = (given.last(), described.get(given.len().saturating_sub(1)));
            let says_nothing =
                |last: &Value| last["value"].is_null() || place.is_some_and(|place| place["schema"]["default"] == last["value"]);
            assert!(!last.is_some_and(says_nothing) && given.len() <= described.len(), "{}: {example}", method["name"]);
        }
    }
}

#[test]
fn every_code_that_can_occur_is_in_the_document() {
    let document = parsed();
    let codes: HashSet<i64> =
        document["components"]["errors"].as_object().unwrap().values().map(|error| error["code"].as_i64().unwrap()).collect();
    let known = [-32700, -32600, -32601, -32602, -32603, -32006, -32007, -32010, -32011].into_iter().chain(1001..=1011).chain(1101..=1103);
    assert_eq!(codes, known.collect());
    for method in document["methods"].as_array().unwrap().iter().filter(|method| method["tags"][0]["name"] == "subscriptions") {
        let codes: Vec<i64> = method["errors"].as_array().unwrap().iter().map(|error| error["code"].as_i64().unwrap()).collect();
        assert!(codes.contains(&-32600), "{} needs a WebSocket", method["name"]);
    }
}

#[test]
fn the_data_of_an_error_has_a_schema_named_after_its_code_which_its_example_fits() {
    let document = parsed();
    for (name, error) in document["components"]["errors"].as_object().unwrap() {
        let schema = &document["components"]["schemas"][format!("{name}Data")];
        assert!(error.get("data").is_none() || schema.is_object(), "{name}");
        if let Some(data) = error.get("data") {
            let mut root = schema.clone();
            root["components"] = document["components"].clone();
            let validator = jsonschema::options().with_draft(jsonschema::Draft::Draft7).build(&root).unwrap();
            assert!(validator.is_valid(data), "{name}: {data}");
        }
    }
}

/// The TypeScript generator's types end at 1.2.6 and `@open-rpc/test-coverage` refuses 1.3.2, while the newest tools still read 1.2.6.
#[test]
fn the_version_is_one_that_all_tools_take() {
    assert_eq!(parsed()["openrpc"], "1.2.6");
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
                if value["value"].is_null() && param["required"] == false {
                    continue; // Not given.
                }
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
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openrpc.json");
    if std::env::var_os("UPDATE_OPENRPC").is_some() {
        std::fs::write(path, document()).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == document(), "openrpc.json is stale: run `UPDATE_OPENRPC=1 cargo test --lib openrpc` and look at the difference");
}
