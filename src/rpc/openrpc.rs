//! Builds the OpenRPC document, so that the usual generators digest it.
//!
//! Their needs, each measured: version 1.3.2, JSON Schema draft 7, a title of its own on every schema, no arrays of types, no
//! remote references, a summary and a result on every method, `rpc.discover` not listed, integers that JavaScript can hold.

mod schema;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::error::Code;
use super::method::{Method, Subscription};
use schema::{Side, Titles};

/// Collects the schemas of a document while its methods are described.
pub(super) struct Describer {
    /// What we read: parameters.
    input: SchemaGenerator,
    /// What we write: results and items.
    output: SchemaGenerator,
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    settings.with(|settings| settings.definitions_path = "/components/schemas".into()).into_generator()
}

impl Describer {
    pub(super) fn new() -> Self {
        Self { input: generator(SchemaSettings::draft07().for_deserialize()), output: generator(SchemaSettings::draft07().for_serialize()) }
    }

    /// A parameter struct as content descriptors, in the order of its fields.
    fn params<P: JsonSchema>(&mut self) -> Vec<Value> {
        let mut schema = transformed(P::json_schema(&mut self.input), &mut self.input);
        let required = schema.get("required").cloned().unwrap_or_default();
        let Some(Value::Object(properties)) = schema.get_mut("properties").map(Value::take) else { return Vec::new() };
        let is_required = |name: &str| required.as_array().is_some_and(|names| names.iter().any(|required| required == name));
        let descriptor = |(name, schema): (String, Value)| {
            let mut descriptor = json!({"name": name, "required": is_required(&name)});
            if let Some(description) = schema.get("description").or_else(|| schema.pointer("/allOf/0/description")) {
                descriptor["description"] = description.clone();
            }
            descriptor["schema"] = schema;
            descriptor
        };
        properties.into_iter().map(descriptor).collect()
    }

    fn output<T: JsonSchema>(&mut self) -> Value {
        let schema = self.output.subschema_for::<T>();
        transformed(schema, &mut self.output)
    }

    /// The whole document around `methods`.
    pub(super) fn document(mut self, mut methods: Vec<Value>) -> Value {
        let (schemas, renamed) = schema::merge(self.output.take_definitions(true), self.input.take_definitions(true));
        let mut titles = Titles::reserving(schemas.iter().map(|(name, ..)| name.as_str()));
        let mut tidy = |(name, mut schema, side): (String, Value, Side)| {
            titles.tidy(&mut schema, &name, side);
            (name, schema)
        };
        let schemas: Map<String, Value> = schemas.into_iter().map(&mut tidy).collect();
        for method in &mut methods {
            describe_schemas(method, &mut titles, &renamed);
        }
        let errors: Map<String, Value> = Code::ALL.iter().map(|code| (format!("{code:?}"), error(*code))).collect();
        json!({
            "openrpc": "1.3.2",
            "info": {
                "title": env!("CARGO_PKG_NAME"),
                "version": env!("CARGO_PKG_VERSION"),
                "description": env!("CARGO_PKG_DESCRIPTION"),
                "license": {"name": env!("CARGO_PKG_LICENSE")},
            },
            "servers": [
                {"name": "http", "url": "http://127.0.0.1:8700/", "summary": "Calls and batches."},
                {"name": "websocket", "url": "ws://127.0.0.1:8700/", "summary": "Calls, batches and subscriptions."},
            ],
            "methods": methods,
            "components": {"schemas": schemas, "errors": errors},
        })
    }
}

/// Runs the generator's transforms, which otherwise reach root schemas only.
fn transformed(mut schema: Schema, generator: &mut SchemaGenerator) -> Value {
    for transform in generator.transforms_mut() {
        transform.transform(&mut schema);
    }
    schema.to_value()
}

/// The names of a method's parameters, in the order of positions.
pub(super) fn parameter_names<P: JsonSchema>() -> Vec<String> {
    let params = Describer::new().params::<P>();
    params.iter().filter_map(|param| param["name"].as_str()).map(str::to_owned).collect()
}

pub(super) fn describe_method<C, M: Method<C>>(describer: &mut Describer) -> Value {
    let examples = M::examples().into_iter().map(|example| pairing(example.name, &example.params, json!(example.result)));
    let mut method = heading::<M>(M::NAME, M::TAG);
    method["params"] = describer.params::<M>().into();
    method["result"] = json!({"name": "result", "schema": describer.output::<M::Output>()});
    method["errors"] = errors(M::ERRORS);
    method["examples"] = examples.collect();
    method
}

pub(super) fn describe_subscription<C, S: Subscription<C>>(describer: &mut Describer) -> Value {
    const ID: &str = "Kx3vQ9bTz1mW5nRa";
    let examples = || S::examples().into_iter();
    let mut method = heading::<S>(S::NAME, S::TAG);
    method["params"] = describer.params::<S>().into();
    method["result"] = json!({
        "name": "subscription", "description": "The id that notifications carry, and that ends the subscription.",
        "schema": {"type": "string"},
    });
    method["errors"] = errors(S::ERRORS);
    method["examples"] = examples().map(|example| pairing(example.name, &example.params, ID.into())).collect();
    method["x-subscription"] = json!({
        "notification": {
            "name": S::NOTIFICATION,
            "params": [
                {"name": "subscription", "required": true, "schema": {"type": "string"}},
                {"name": "result", "required": true, "schema": describer.output::<S::Item>()},
            ],
            "examples": examples().map(|example| json!({"subscription": ID, "result": example.result})).collect::<Value>(),
        },
        "unsubscribe": S::UNSUBSCRIBE,
    });
    method
}

/// What a method and a subscription have in common: the name, and the documentation of the parameter struct.
fn heading<P: JsonSchema>(name: &str, tag: &str) -> Value {
    let schema = P::json_schema(&mut generator(SchemaSettings::draft07().for_deserialize()));
    let description = schema.get("description").and_then(Value::as_str).unwrap_or(name);
    let sentence = description.split(". ").next().unwrap_or(description);
    let summary = sentence.split("\n\n").next().unwrap_or(sentence).trim_end_matches('.');
    json!({
        "name": name, "summary": summary, "description": description, "tags": [{"name": tag}], "paramStructure": "either",
    })
}

fn pairing<P: Serialize>(name: &str, params: &P, result: Value) -> Value {
    let params = match serde_json::to_value(params) {
        Ok(Value::Object(params)) => params,
        _ => Map::new(),
    };
    let given = |(name, mut value): (String, Value)| {
        if let Value::Object(members) = &mut value {
            members.retain(|_, member| !member.is_null()); // The same as not given, which is how parameters are described.
        }
        json!({"name": name, "value": value})
    };
    let params: Value = params.into_iter().map(given).collect();
    json!({"name": name, "params": params, "result": {"name": "result", "value": result}})
}

fn errors(own: &[Code]) -> Value {
    Code::COMMON.iter().chain(own).map(|code| error(*code)).collect()
}

fn error(code: Code) -> Value {
    let mut error = json!({"code": code.number(), "message": code.meaning()});
    if let Some(data) = code.data_example() {
        error["data"] = data;
    }
    error
}

/// Titles every schema that stands in a method.
fn describe_schemas(method: &mut Value, titles: &mut Titles, renamed: &[String]) {
    let name = schema::camel(method["name"].as_str().unwrap_or_default());
    for param in method["params"].as_array_mut().into_iter().flatten() {
        let title = format!("{name}{}", schema::camel(param["name"].as_str().unwrap_or_default()));
        schema::redirect(&mut param["schema"], renamed);
        titles.tidy(&mut param["schema"], &title, Side::Input);
    }
    titles.tidy(&mut method["result"]["schema"], &format!("{name}Result"), Side::Output);
    for param in method.pointer_mut("/x-subscription/notification/params").and_then(Value::as_array_mut).into_iter().flatten() {
        let title = format!("{name}Notification{}", schema::camel(param["name"].as_str().unwrap_or_default()));
        titles.tidy(&mut param["schema"], &title, Side::Output);
    }
}

#[cfg(test)]
mod tests;
