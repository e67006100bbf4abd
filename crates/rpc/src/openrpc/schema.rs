use std::collections::HashSet;

use schemars::Schema;
use serde_json::{Map, Value, json};

type Schemas = Map<String, Value>;

const REF: &str = "#/components/schemas/";

fn input_name(name: &str) -> String {
    format!("{name}Input")
}

/// Merges the schemas of both generators. Also returns the names that were changed.
///
/// If a name has different schemas in results and in parameters, the schema of parameters gets another name.
pub(super) fn merge(output: Schemas, input: Schemas) -> (Vec<(String, Value)>, Vec<String>) {
    let differs = |(name, schema): &(&String, &Value)| output.get(*name).is_some_and(|other| other != *schema);
    let renamed: Vec<String> = input.iter().filter(differs).map(|(name, _)| name.clone()).collect();
    let mut only_input = Vec::new();
    for (name, mut schema) in input {
        redirect(&mut schema, &renamed);
        if renamed.contains(&name) {
            only_input.push((input_name(&name), schema));
        } else if !output.contains_key(&name) {
            only_input.push((name, schema));
        }
    }
    (output.into_iter().chain(only_input).collect(), renamed)
}

/// Redirects references to renamed schemas.
pub(super) fn redirect(value: &mut Value, renamed: &[String]) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(target)) = map.get_mut("$ref")
                && let Some(name) = target.strip_prefix(REF)
                && renamed.iter().any(|renamed| renamed == name)
            {
                *target = format!("{REF}{}", input_name(name));
            }
            map.values_mut().for_each(|value| redirect(value, renamed));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| redirect(value, renamed)),
        _ => {}
    }
}

/// Converts `snake_case` to `CamelCase`.
pub(super) fn camel(name: &str) -> String {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .flat_map(|word| {
            let (first, rest) = word.split_at(word.len().min(1));
            [first.to_ascii_uppercase(), rest.to_owned()]
        })
        .collect()
}

/// Joins the lines of a text, because generators write descriptions after `//`.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The titles given so far. Generators make type names from them, so every title must be unique.
pub(super) struct Titles(HashSet<String>);

impl Titles {
    /// Returns titles that avoid the names of components, and those in `taken`, which generators use themselves.
    pub(super) fn reserving<'a>(components: impl Iterator<Item = &'a str>, taken: impl Iterator<Item = &'a str>) -> Self {
        Self(components.map(|name| format!("={}", camel(name))).chain(taken.map(camel)).collect())
    }

    fn unique(&mut self, wanted: &str, component: bool) -> String {
        let taken = |titles: &HashSet<String>, title: &str| titles.contains(title) || (!component && titles.contains(&format!("={title}")));
        let candidates =
            std::iter::once(String::new()).chain(std::iter::once("Value".into())).chain((2..).map(|n: u32| format!("Value{n}")));
        let title = candidates.map(|suffix| format!("{wanted}{suffix}")).find(|title| !taken(&self.0, title)).unwrap_or_default();
        self.0.insert(title.clone());
        title
    }

    /// Gives titles to a schema and all schemas inside it, and rewrites constructs that generators misread.
    pub(super) fn tidy(&mut self, schema: &mut Value, wanted: &str) {
        let wanted = camel(wanted);
        let component = self.0.contains(&format!("={wanted}"));
        self.tidy_as(schema, &wanted, component);
    }

    fn tidy_as(&mut self, schema: &mut Value, wanted: &str, component: bool) {
        if schema.is_boolean() {
            *schema = json!({});
        }
        let Value::Object(map) = schema else { return };
        null_as_choice(map);
        if let Some(target) = reference(map) {
            // Generators ignore members beside a reference, or create a type for them. The target has a title anyway.
            *schema = json!({"$ref": target});
            return;
        }
        plain_enum(map);
        if let Some(Value::String(description)) = map.get_mut("description") {
            *description = one_line(description);
        }
        numbers(map);
        let title = self.unique(wanted, component);
        map.shift_insert(0, "title".into(), title.clone().into());
        for (key, value) in map.iter_mut() {
            match (key.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    for (name, schema) in properties {
                        self.tidy_as(schema, &format!("{title}{}", camel(name)), false);
                    }
                }
                ("items" | "additionalProperties", schema @ (Value::Object(_) | Value::Bool(true))) => {
                    self.tidy_as(schema, &format!("{title}Item"), false);
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(choices)) => {
                    for (at, schema) in choices.iter_mut().enumerate() {
                        let name = choice_name(schema, at);
                        self.tidy_as(schema, &format!("{title}{name}"), false);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns the target of a schema that is only a reference, optionally with a description.
fn reference(map: &Map<String, Value>) -> Option<Value> {
    let only = ["allOf", "anyOf", "oneOf"].iter().find_map(|key| match map.get(*key)?.as_array()?.as_slice() {
        [only] => only.get("$ref"),
        _ => None,
    });
    map.get("$ref").or(only).cloned()
}

/// Rewrites a choice of words as an `enum`, and explains each word in its description.
fn plain_enum(map: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = map.get("oneOf") else { return };
    let Some(words) = choices.iter().map(|choice| choice["const"].as_str().map(str::to_owned)).collect::<Option<Vec<_>>>() else { return };
    let meaning = |(word, choice): (&String, &Value)| Some(format!("`{word}`: {}", choice["description"].as_str()?));
    let meanings = words.iter().zip(choices).filter_map(meaning);
    let description: Vec<String> = map.get("description").and_then(Value::as_str).map(str::to_owned).into_iter().chain(meanings).collect();
    map.shift_remove("oneOf");
    map.insert("type".into(), "string".into());
    map.insert("enum".into(), words.into());
    if !description.is_empty() {
        map.shift_remove("description");
        map.insert("description".into(), description.join(" ").into());
    }
}

/// Returns a name for one choice of several: its constant, `null` if that is its type, or its number.
fn choice_name(schema: &Value, at: usize) -> String {
    match (schema.get("const"), schema.get("type")) {
        (Some(Value::String(word)), _) => camel(word),
        (_, Some(Value::String(kind))) if kind == "null" => "Null".into(),
        _ => format!("Choice{}", at + 1),
    }
}

/// Removes `null` from the properties of an object that may be missing. `null` is the same as missing in parameters, and does not
/// occur in results.
pub(super) fn without_null(schema: &mut Schema) {
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required = |name: &String| required.as_array().is_some_and(|names| names.iter().any(|required| required == name));
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (_, property) in properties.into_iter().flatten().filter(|(name, _)| !is_required(name)) {
        let Value::Object(map) = property else { continue };
        if let Some(Value::Array(types)) = map.get_mut("type") {
            types.retain(|kind| kind != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                map.insert("type".into(), only);
            }
        }
        if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
            choices.retain(|choice| choice["type"] != "null");
            if let [Value::Object(only)] = choices.as_mut_slice() {
                let mut only = std::mem::take(only);
                map.shift_remove("anyOf");
                only.append(map);
                *map = only;
            }
        }
    }
}

/// Rewrites a list of types as a choice.
fn null_as_choice(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get("type") {
        let types = types.clone();
        let mut rest = std::mem::take(map);
        let description = rest.remove("description");
        let choices = types.iter().map(|kind| {
            if kind == "null" {
                json!({"type": "null"})
            } else {
                let mut choice = rest.clone();
                choice.insert("type".into(), kind.clone());
                choice.into()
            }
        });
        map.insert("anyOf".into(), choices.collect());
        map.extend(description.map(|description| ("description".to_owned(), description)));
    }
    if map.get("default").is_some_and(Value::is_null) {
        map.remove("default");
    }
}

/// Replaces Rust's names of number formats, which other tools do not know, by the range that JavaScript can represent.
fn numbers(map: &mut Map<String, Value>) {
    const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;
    let Some(Value::String(format)) = map.get("format") else { return };
    if !matches!(format.as_str(), "double" | "float") && !format.starts_with("int") && !format.starts_with("uint") {
        return;
    }
    let (large, signed) = (matches!(format.as_str(), "int64" | "uint64" | "int" | "uint"), format.starts_with("int"));
    let maximum = match format.as_str() {
        "uint32" => Some(i64::from(u32::MAX)),
        "uint16" => Some(i64::from(u16::MAX)),
        "uint8" => Some(i64::from(u8::MAX)),
        _ if large => Some(MAX_SAFE_INTEGER),
        _ => None,
    };
    map.remove("format");
    if let Some(maximum) = maximum {
        map.entry("maximum").or_insert(maximum.into());
    }
    if large && signed {
        map.entry("minimum").or_insert((-MAX_SAFE_INTEGER).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_two_meanings_becomes_two_names() {
        let schemas = |value: Value| value.as_object().unwrap().clone();
        let output = schemas(json!({"Same": {"type": "string"}, "Two": {"type": "object"}}));
        let input = schemas(json!({
            "Same": {"type": "string"}, "Two": {"type": "number"}, "New": {"$ref": "#/components/schemas/Two"}
        }));
        let (all, renamed) = merge(output, input);
        assert_eq!(renamed, ["Two"]);
        let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Same", "Two", "TwoInput", "New"]);
        assert_eq!(all[3].1, json!({"$ref": "#/components/schemas/TwoInput"}));
    }

    fn tidied(mut schema: Value) -> Value {
        Titles::reserving(std::iter::empty(), std::iter::empty()).tidy(&mut schema, "name");
        schema
    }

    #[test]
    fn null_is_a_choice_of_what_is_required_and_nothing_in_what_may_be_missing() {
        let properties =
            |word: Value, other: Value| json!({"required": ["there"], "properties": {"there": word, "word": word, "other": other}});
        let choice = json!({"anyOf": [{"$ref": "#/x"}, {"type": "null"}], "description": "d"});
        let word = json!({"type": ["string", "null"], "description": "d"});
        let mut schema = Schema::try_from(properties(word.clone(), choice)).unwrap();
        without_null(&mut schema);
        let mut expected = properties(word.clone(), json!({"$ref": "#/x", "description": "d"}));
        expected["properties"]["word"]["type"] = "string".into();
        assert_eq!(schema.to_value(), expected);
        let choices = json!([{"title": "NameChoice1", "type": "string"}, {"title": "NameNull", "type": "null"}]);
        assert_eq!(tidied(word), json!({"title": "Name", "anyOf": choices, "description": "d"}));
    }

    #[test]
    fn a_described_reference_is_a_bare_one() {
        for schema in [json!({"$ref": "#/x", "description": "d"}), json!({"allOf": [{"$ref": "#/x"}], "description": "d", "default": 1})] {
            assert_eq!(tidied(schema), json!({"$ref": "#/x"}));
        }
    }

    #[test]
    fn a_choice_of_words_is_an_enum_that_says_what_they_mean() {
        let word = |word: &str, description: &str| json!({"type": "string", "const": word, "description": description});
        let choices = [word("a", "One."), word("b", "Two\nlines.")];
        let expected = json!({"title": "Name", "type": "string", "enum": ["a", "b"], "description": "Words. `a`: One. `b`: Two lines."});
        assert_eq!(tidied(json!({"oneOf": choices, "description": "Words."})), expected);
    }

    #[test]
    fn a_title_that_generators_give_away_is_given_to_no_schema() {
        let mut schema = json!({"type": "object"});
        Titles::reserving(std::iter::empty(), ["ta_ken"].into_iter()).tidy(&mut schema, "ta_ken");
        assert_eq!(schema["title"], "TaKenValue");
    }
}
