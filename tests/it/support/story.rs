//! The examples of `openrpc.json` build on each other: on a fresh server, each call works after those before it.

use std::collections::BTreeMap;

use hero::model::{JobId, PrivateKey, Timestamp};
use serde_json::{Map, Value, json};

/// An example call from `openrpc.json`.
pub struct Example {
    pub method: String,
    /// The given parameters, in the order of their positions. Null means not given.
    params: Vec<(String, Value)>,
    pub result: Value,
    /// The schema of the result, or of the items of a subscription.
    pub schema: Value,
    /// The items that a subscription sends.
    pub item: Option<Value>,
    /// All parameters of the method, with their schemas.
    pub takes: BTreeMap<String, Value>,
}

/// The examples of all methods, in the order of the document.
pub fn examples() -> Vec<Example> {
    let document: Value = serde_json::from_str(include_str!("../../../openrpc.json")).unwrap();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let of_method = |method: Value| {
        let notified = method.pointer("/x-subscription/notification").cloned();
        let name = |of: &Value| of["name"].as_str().unwrap().to_owned();
        let takes: BTreeMap<_, _> = list(&method["params"]).iter().map(|param| (name(param), param["schema"].clone())).collect();
        let schema = notified.as_ref().map_or(&method["result"]["schema"], |notified| &notified["params"][1]["schema"]).clone();
        let items = notified.map(|notified| list(&notified["examples"])).unwrap_or_default();
        let examples = list(&method["examples"]);
        assert!(!examples.is_empty(), "{} has no example", method["name"]);
        let one = |(at, example): (usize, &Value)| Example {
            method: name(&method),
            params: list(&example["params"]).iter().map(|param| (name(param), param["value"].clone())).collect(),
            result: example["result"]["value"].clone(),
            schema: schema.clone(),
            item: items.get(at).map(|item| item["result"].clone()),
            takes: takes.clone(),
        };
        examples.iter().enumerate().map(one).collect::<Vec<_>>()
    };
    list(&document["methods"]).into_iter().flat_map(of_method).collect()
}

impl Example {
    /// Whether its method changes nothing, so that it may be called again.
    pub fn reads(&self) -> bool {
        ["get_", "list_", "find_", "explain_", "wait_"].iter().any(|verb| self.method.starts_with(verb))
    }

    /// Whether its method creates something.
    pub fn makes(&self) -> bool {
        ["create_", "run_", "send_"].iter().any(|verb| self.method.starts_with(verb))
    }

    /// The given parameters by name.
    pub fn by_name(&self, made: &mut Made) -> Value {
        let given = made.put(&self.params).into_iter().filter(|(_, value)| !value.is_null());
        given.collect::<Map<_, _>>().into()
    }

    /// The parameters by position, as tools send them, with unchanged values.
    pub fn by_position(&self, made: &mut Made) -> Value {
        made.put(&self.params).into_iter().map(|(_, value)| value).collect()
    }

    /// The parameters by name, without waiting.
    pub fn at_once(&self, made: &mut Made) -> Map<String, Value> {
        let Value::Object(mut params) = self.by_name(made) else { unreachable!("they have names") };
        if self.takes.contains_key("wait_timeout") {
            params.insert("wait_timeout".to_owned(), json!(0));
        }
        params
    }
}

/// The values that a server generated, by the values of the examples.
#[derive(Default, Clone)]
pub struct Made(BTreeMap<String, String>);

/// The members that differ between servers or change over time.
const VARY: [&str; 15] = [
    "usage",
    "hostname",
    "pid",
    "confinement",
    "server_id",
    "uptime",
    "listen",
    "store",
    "pools",
    "actors",
    "in_flight",
    "node_key",
    "key",
    "clock_ahead",
    "round_trip",
];

/// A text that servers generate: its kind, and whether it stays the same each time it occurs.
fn made_up(text: &str) -> Option<(&'static str, bool)> {
    let is_hex = |text: &str| text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_cursor =
        |text: &str| text.split_once('-').is_some_and(|(time, count)| time.parse::<u64>().is_ok() && count.parse::<u64>().is_ok());
    match text {
        _ if text.parse::<Timestamp>().is_ok() => Some(("a time", false)),
        _ if is_cursor(text) => Some(("a cursor", false)),
        _ if text.parse::<JobId>().is_ok() => Some(("an id", true)),
        _ if is_hex(text) && text.len() < 64 => Some(("a short id", true)),
        _ if text.starts_with("hero_") => Some(("a secret", true)),
        _ if text.starts_with("hero:") && text.split(':').count() > 4 => Some(("a nonce", true)),
        _ => None,
    }
}

impl Made {
    /// Returns these parameters with the values that the server generated. A value that a call is the first to name stays.
    fn put(&mut self, params: &[(String, Value)]) -> Vec<(String, Value)> {
        let mut params: Vec<_> = params.iter().map(|(name, value)| (name.clone(), self.replaced(value))).collect();
        // The server chose the nonce, so it must be signed again.
        if let Some(nonce) = params.iter().find(|(name, _)| name == "nonce").and_then(|(_, nonce)| nonce.as_str().map(str::to_owned)) {
            let key: PrivateKey = format!("{:064x}", 1).parse().unwrap();
            params.iter_mut().filter(|(name, _)| name == "signature").for_each(|(_, signature)| *signature = json!(key.sign(&nonce)));
        }
        params
    }

    /// Returns a program that contains the parameters of an example, with the values that the server generated.
    pub fn written(&mut self, example: &Example, program: &str) -> String {
        let (mut program, given) = (program.to_owned(), self.put(&example.params));
        for ((_, printed), (_, given)) in example.params.iter().zip(&given) {
            exchange(printed, given, &mut program);
        }
        program
    }

    fn replaced(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) if made_up(text).is_some_and(|(_, lasts)| lasts) || self.0.contains_key(text) => {
                json!(self.0.entry(text.clone()).or_insert_with(|| text.clone()))
            }
            Value::Array(values) => values.iter().map(|value| self.replaced(value)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, value)| (name.clone(), self.replaced(value))).collect::<Map<_, _>>().into()
            }
            other => other.clone(),
        }
    }

    /// Records that one value replaces another from now on.
    pub fn learn(&mut self, expected: &Value, given: &str) {
        self.0.insert(expected.as_str().unwrap().to_owned(), given.to_owned());
    }

    /// Whether an answer matches an example, except for generated and varying values. It may have more members. Records
    /// generated values.
    pub fn agree(&mut self, place: &str, expected: &Value, answer: &Value) -> Result<(), String> {
        let differ = || Err(format!("{place} is {answer}, and the example says {expected}"));
        match (expected, answer) {
            (Value::Object(members), Value::Object(_)) => {
                for (name, member) in members.iter().filter(|(name, member)| !VARY.contains(&name.as_str()) && !member.is_null()) {
                    self.agree(&format!("{place}.{name}"), member, &answer[name])?;
                }
                Ok(())
            }
            (Value::Array(elements), Value::Array(answers)) => {
                for element in elements {
                    let fits = |known: &Self, answer| {
                        let mut known = known.clone();
                        known.agree(place, element, answer).map(|()| known)
                    };
                    match answers.iter().find_map(|answer| fits(self, answer).ok()) {
                        Some(known) => *self = known,
                        None => return differ(),
                    }
                }
                Ok(())
            }
            (Value::String(text), Value::String(given)) => match (self.0.get(text), made_up(text), made_up(given)) {
                (Some(known), ..) if known == given => Ok(()),
                (None, Some((kind, lasts)), Some((other, _))) if kind == other => {
                    if lasts {
                        self.0.insert(text.clone(), given.clone());
                    }
                    Ok(())
                }
                (None, None, _) if text == given => Ok(()),
                _ => differ(),
            },
            // In JSON, 300 and 300.0 are the same number.
            (Value::Number(number), Value::Number(given)) if number.as_f64() == given.as_f64() => Ok(()),
            _ if expected == answer => Ok(()),
            _ => differ(),
        }
    }
}

/// In a program, replaces each text of one value with the text at the same place in another value.
fn exchange(printed: &Value, given: &Value, program: &mut String) {
    match (printed, given) {
        (Value::String(printed), Value::String(given)) if printed != given => *program = program.replace(printed, given),
        (Value::Array(printed), Value::Array(given)) => {
            printed.iter().zip(given).for_each(|(printed, given)| exchange(printed, given, program))
        }
        (Value::Object(printed), Value::Object(given)) => {
            printed.values().zip(given.values()).for_each(|(printed, given)| exchange(printed, given, program));
        }
        _ => {}
    }
}
