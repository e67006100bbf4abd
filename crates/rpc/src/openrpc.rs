//! Builds the OpenRPC document, in a form that the usual generators can read.
//!
//! The generators need, each measured: version 1.2.6 (all know it; some refuse 1.3.2, others 1.4); JSON Schema draft 7; a unique title on
//! every schema, none equal to a type that a method creates; components that are objects or plain `enum`s; no arrays of types; no remote
//! references and nothing beside a reference; a summary and a result on every method; descriptions of one line; `rpc.discover` not listed;
//! integers that JavaScript can represent; examples that give each parameter up to the last one used.
//!
//! The examples are one story, in the order of the document: each works on a fresh server after the ones before it.

pub(crate) mod document;
mod schema;

use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value, json};

use super::NAME;
use super::effect::Effect;
use super::error::{Code, data};
use super::method::{Example, Method, Subscription};
use hero_model::api::Repeatable;
use schema::{Titles, one_line};

/// Returns the schema of a type.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The name of an example, its parameters and its result.
type GivenExample = (&'static str, Value, Value);

/// Collects the schemas of a document while its methods are described.
pub(super) struct Describer {
    /// The schemas of parameters, which the server reads.
    input: SchemaGenerator,
    /// The schemas of results and items, which the server writes.
    output: SchemaGenerator,
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    let configure = |settings: &mut SchemaSettings| {
        settings.definitions_path = "/components/schemas".into();
        settings.transforms.insert(0, Box::new(RecursiveTransform(schema::without_null)));
    };
    settings.with(configure).into_generator()
}

impl Describer {
    pub(super) fn new() -> Self {
        Self { input: generator(SchemaSettings::draft07().for_deserialize()), output: generator(SchemaSettings::draft07().for_serialize()) }
    }

    /// Converts the schema of a parameter struct to content descriptors, in the order of positions: first those in `leading`, then its
    /// other fields.
    // Most of this file is not generic, because the compiler would make some eighty copies of it.
    fn params(&mut self, schema: Schema, leading: &[&str]) -> Vec<Value> {
        let mut schema = transformed(schema, &mut self.input);
        let required = schema.get("required").cloned().unwrap_or_default();
        let Some(Value::Object(properties)) = schema.get_mut("properties").map(Value::take) else { return Vec::new() };
        let is_required = |name: &str| required.as_array().is_some_and(|names| names.iter().any(|required| required == name));
        let descriptor = |(name, schema): (String, Value)| {
            let mut descriptor = json!({"name": name, "required": is_required(&name)});
            if let Some(description) = schema["description"].as_str() {
                descriptor["description"] = one_line(description).into();
            }
            descriptor["schema"] = schema;
            descriptor
        };
        let mut params: Vec<Value> = properties.into_iter().map(descriptor).collect();
        params.sort_by_key(|param| leading.iter().position(|name| param["name"] == *name).unwrap_or(leading.len()));
        params
    }

    fn output(&mut self, schema_of: SchemaOf) -> Value {
        let schema = schema_of(&mut self.output);
        transformed(schema, &mut self.output)
    }

    /// Describes a method, whose result is still missing.
    fn heading(&mut self, (name, tag): (&str, &str), schema_of: SchemaOf, leading: &[&str], given: Vec<GivenExample>) -> Value {
        let schema = schema_of(&mut self.input);
        let description = schema.get("description").and_then(Value::as_str).unwrap_or(name);
        let sentence = description.split(". ").next().unwrap_or(description);
        let summary = sentence.split("\n\n").next().unwrap_or(sentence).trim_end_matches('.');
        let (summary, description) = (one_line(summary), one_line(description));
        let params = self.params(schema, leading);
        let examples = examples(&params, given);
        json!({
            "name": name, "summary": summary, "description": description, "tags": [{"name": tag}], "paramStructure": "either",
            "params": params, "result": null, "errors": null, "examples": examples,
        })
    }

    /// Returns the whole document around `methods`.
    pub(super) fn document(mut self, mut methods: Vec<Value>) -> Value {
        data::describe(&mut self.input);
        let (schemas, renamed) = schema::merge(self.output.take_definitions(true), self.input.take_definitions(true));
        let names: Vec<String> = methods.iter().filter_map(|method| Some(method["name"].as_str()?.to_owned())).collect();
        let taken = names.iter().map(String::as_str).chain([NAME]); // Generators create types with these names, too.
        let mut titles = Titles::reserving(schemas.iter().map(|(name, _)| name.as_str()), taken);
        let mut tidy = |(name, mut schema): (String, Value)| {
            titles.tidy(&mut schema, &name);
            (name, schema)
        };
        let schemas: Map<String, Value> = schemas.into_iter().map(&mut tidy).collect();
        for method in &mut methods {
            describe_schemas(method, &mut titles, &renamed);
        }
        let errors: Map<String, Value> = Code::ALL.iter().map(|code| (format!("{code:?}"), error(*code))).collect();
        json!({
            "openrpc": "1.2.6",
            "info": {
                "title": NAME,
                "version": env!("CARGO_PKG_VERSION"),
                "description": env!("CARGO_PKG_DESCRIPTION"),
                "license": {"name": env!("CARGO_PKG_LICENSE")},
            },
            "servers": [
                {"name": "http", "url": document::HTTP, "summary": "Calls and batches."},
                {"name": "websocket", "url": document::WEBSOCKET, "summary": "Calls, batches and subscriptions."},
            ],
            "methods": methods,
            "components": {"schemas": schemas, "errors": errors},
        })
    }
}

/// Runs the generator's transforms, which otherwise apply to root schemas only.
fn transformed(mut schema: Schema, generator: &mut SchemaGenerator) -> Value {
    for transform in generator.transforms_mut() {
        transform.transform(&mut schema);
    }
    schema.to_value()
}

/// Returns the names of a method's parameters, in the order of positions.
pub(super) fn parameter_names(schema_of: SchemaOf, leading: &[&str]) -> Vec<String> {
    let mut describer = Describer::new();
    let schema = schema_of(&mut describer.input);
    let params = describer.params(schema, leading);
    params.iter().filter_map(|param| param["name"].as_str()).map(str::to_owned).collect()
}

/// Returns the names of a method's parameters that take any text.
pub(super) fn text_parameters(schema_of: SchemaOf) -> Vec<String> {
    let mut describer = Describer::new();
    let schema = schema_of(&mut describer.input);
    let params = describer.params(schema, &[]);
    let definitions = describer.input.take_definitions(true);
    let is_text = |schema: &Value| {
        let name = schema["$ref"].as_str().and_then(|target| target.rsplit('/').next());
        let schema = name.and_then(|name| definitions.get(name)).unwrap_or(schema);
        schema["type"] == "string"
    };
    let texts = params.iter().filter(|param| is_text(&param["schema"]));
    texts.filter_map(|param| param["name"].as_str()).map(str::to_owned).collect()
}

pub(super) fn describe_method<C, M: Method<C>>(describer: &mut Describer) -> Vec<Value> {
    let given = |example: Example<M, M::Output>| (example.name, json!(example.params), json!(example.result));
    let mut method = describer.heading((M::NAME, M::TAG), M::json_schema, M::LEADING, M::examples().into_iter().map(given).collect());
    let result = describer.output(SchemaGenerator::subschema_for::<M::Output>);
    complete_method(&mut method, M::RESULT, result, M::ERRORS, M::EFFECT);
    vec![method]
}

fn complete_method(method: &mut Value, described: &str, schema: Value, own_errors: &[Code], effect: Effect) {
    method["result"] = json!({"name": "result", "description": described, "schema": schema});
    method["errors"] = errors(own_errors);
    method[REPEATABLE] = effect.repeatable().as_str().into();
    method["x-effect"] = effect.as_str().into();
}

/// The member of a method that says whether it may be repeated without a check.
const REPEATABLE: &str = "x-repeatable";

/// Returns the id of a subscription in examples. Each method has its own.
fn subscription_id(name: &str) -> String {
    format!("Kx3vQ9bTz1mW5nRa-{name}")
}

/// Describes the method that subscribes, and the one that ends the subscription.
pub(super) fn describe_subscription<C, S: Subscription<C>>(describer: &mut Describer) -> Vec<Value> {
    const ERRORS: [Code; 2] = [Code::InvalidRequest, Code::TooManySubscriptions];
    let id = subscription_id(S::NAME);
    let given = |example: Example<S, S::Item>| (example.name, json!(example.params), id.clone().into());
    let mut method = describer.heading((S::NAME, S::TAG), S::json_schema, &[], S::examples().into_iter().map(given).collect());
    method["result"] = json!({
        "name": "subscription", "description": "The id of the subscription, which its notifications carry and which ends it.",
        "schema": {"type": "string"},
    });
    method["errors"] = errors(&[&ERRORS, S::ERRORS].concat());
    method[REPEATABLE] = Repeatable::Always.as_str().into();
    method["x-subscription"] = json!({
        "notification": {
            "name": S::NOTIFICATION,
            "params": [
                {"name": "subscription", "required": true, "schema": {"type": "string"}},
                {"name": "result", "required": true, "schema": describer.output(SchemaGenerator::subschema_for::<S::Item>)},
            ],
            "examples": S::examples().into_iter().map(|example| json!({"subscription": id, "result": example.result})).collect::<Value>(),
        },
        "unsubscribe": S::UNSUBSCRIBE,
    });
    vec![method, describe_unsubscription::<C, S>()]
}

fn describe_unsubscription<C, S: Subscription<C>>() -> Value {
    json!({
        "name": S::UNSUBSCRIBE,
        "summary": format!("Ends a subscription that {} began", S::NAME),
        "description": format!("Ends a subscription that {} began. Gives whether there was one of this id, on this connection.", S::NAME),
        "tags": [{"name": S::TAG}], "paramStructure": "either",
        "params": [{
            "name": "subscription", "required": true, "description": "The id of the subscription.",
            "schema": {"type": "string"},
        }],
        "result": {"name": "result", "description": "Whether this connection had the subscription.", "schema": {"type": "boolean"}},
        "errors": errors(&[Code::InvalidRequest]), REPEATABLE: Repeatable::Always.as_str(),
        "examples": [{
            "name": format!("end what {} began", S::NAME), "params": [{"name": "subscription", "value": subscription_id(S::NAME)}],
            "result": {"name": "result", "value": true},
        }],
    })
}

/// Returns examples.
fn examples(described: &[Value], given: Vec<GivenExample>) -> Value {
    given.into_iter().map(|(name, params, result)| pairing(name, described, params, result)).collect()
}

/// Returns an example with every parameter up to the last given one, because tools send the values of examples by position.
fn pairing(name: &str, described: &[Value], mut given: Value, result: Value) -> Value {
    let value = |descriptor: &Value| {
        let name = descriptor["name"].as_str().unwrap_or_default();
        let mut value = given.get_mut(name).map(Value::take).unwrap_or_default();
        if let Value::Object(members) = &mut value {
            members.retain(|_, member| !member.is_null()); // Null means "not given", and parameters are described so.
        }
        let speaks = !value.is_null() && Some(&value) != descriptor["schema"].get("default");
        (speaks, json!({"name": name, "value": value}))
    };
    let all: Vec<(bool, Value)> = described.iter().map(value).collect();
    let used = all.iter().rposition(|(speaks, _)| *speaks).map_or(0, |last| last + 1);
    let params: Value = all.into_iter().take(used).map(|(_, value)| value).collect();
    json!({"name": name, "params": params, "result": {"name": "result", "value": result}})
}

fn errors(own: &[Code]) -> Value {
    Code::COMMON.iter().chain(own).map(|code| error(*code)).collect()
}

fn error(code: Code) -> Value {
    let mut error = json!({"code": code.number(), "message": code.meaning()});
    if let Some(data) = data::example(code) {
        error["data"] = data;
    }
    error
}

/// Gives every schema of a method a title.
fn describe_schemas(method: &mut Value, titles: &mut Titles, renamed: &[String]) {
    let name = schema::camel(method["name"].as_str().unwrap_or_default());
    for param in method["params"].as_array_mut().into_iter().flatten() {
        let title = format!("{name}{}", schema::camel(param["name"].as_str().unwrap_or_default()));
        schema::redirect(&mut param["schema"], renamed);
        titles.tidy(&mut param["schema"], &title);
    }
    titles.tidy(&mut method["result"]["schema"], &format!("{name}Result"));
    for param in method.pointer_mut("/x-subscription/notification/params").and_then(Value::as_array_mut).into_iter().flatten() {
        let title = format!("{name}Notification{}", schema::camel(param["name"].as_str().unwrap_or_default()));
        titles.tidy(&mut param["schema"], &title);
    }
}

#[cfg(test)]
mod tests;
