use std::collections::BTreeMap;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ReferencingError, Validator};
use serde_json::Value;

use super::depth;
use hero_model::{self as model, Name};

/// Maximum number of characters of an error in a message: a value that does not fit may be long.
const MAX_ERROR_CHARS: usize = 300;

/// Maximum nesting of an object for which the error names the place that does not fit.
const DEPTH_OF_PLACES: usize = 8;

/// The schemas of objects, by the names of their collections.
#[derive(Debug, Default)]
pub struct Schemas(BTreeMap<Name, Validator>);

impl Schemas {
    /// Makes the objects of a collection fit a JSON Schema from now on. Stored objects stay as they are.
    ///
    /// References work within the schema only: nothing is fetched or read. Its patterns are matched without
    /// backtracking, so no object can make that slow.
    pub fn add(&mut self, collection: Name, schema: &Value) -> Result<(), String> {
        let validator = jsonschema::options().with_pattern_options(PatternOptions::regex()).build(schema);
        let validator = validator.map_err(|error| match error.kind() {
            ValidationErrorKind::Referencing(ReferencingError::Unretrievable { uri, .. }) => format!(
                "refers to {}, which is not in it: a schema is one file, and nothing is fetched or read for it; put what it refers to under \
                 $defs and write #/$defs/NAME",
                model::excerpt(uri, MAX_ERROR_CHARS)
            ),
            _ => format!("is no JSON Schema: {}: {}", place(error.instance_path().as_str()), excerpt(&error)),
        })?;
        self.0.insert(collection, validator);
        Ok(())
    }

    /// True if the collection has a schema.
    pub fn has(&self, collection: &Name) -> bool {
        self.0.contains_key(collection)
    }

    /// Checks an object against the schema of its collection, if there is one. The error names the place that does not
    /// fit.
    pub(super) fn check(&self, collection: &Name, object: &Value) -> Result<(), String> {
        let Some(schema) = self.0.get(collection) else { return Ok(()) };
        // This takes linear time. Finding the place takes longer, because it tries all nested branches of `anyOf` and
        // `oneOf`, so it is done only for objects of moderate depth.
        if schema.is_valid(object) {
            return Ok(());
        }
        if depth(object) > DEPTH_OF_PLACES {
            return Err(format!("does not fit the schema of {collection}"));
        }
        schema.validate(object).map_err(|error| {
            format!("does not fit the schema of {collection}: {}: {}", place(error.instance_path().as_str()), excerpt(&error))
        })
    }
}

/// Formats a JSON Pointer for people.
fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the object" } else { pointer }
}

fn excerpt(error: &impl std::fmt::Display) -> String {
    model::excerpt(&error.to_string(), MAX_ERROR_CHARS).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_that_does_not_fit_is_told_where() {
        let (mut schemas, people): (Schemas, Name) = (Schemas::default(), "people".parse().unwrap());
        let schema = json!({
            "required": ["name"],
            "properties": {
                "name": {"type": "string", "pattern": "^[A-Z]"},
                "address": {"properties": {"zip": {"type": "integer"}}},
            },
        });
        schemas.add(people.clone(), &schema).unwrap();
        assert_eq!(schemas.check(&people, &json!({"name": "Ada", "address": {"zip": 9000}})), Ok(()));
        for (object, told) in [
            (json!({}), "the object: \"name\" is a required property"),
            (json!({"name": 1}), "/name: 1 is not of type \"string\""),
            (json!({"name": "ada"}), "/name: \"ada\" does not match"),
            (json!({"name": "Ada", "address": {"zip": "x"}}), "/address/zip: \"x\" is not of type \"integer\""),
        ] {
            let misfit = schemas.check(&people, &object).unwrap_err();
            assert!(misfit.starts_with("does not fit the schema of people: ") && misfit.contains(told), "{object}: {misfit}");
        }
        let long = schemas.check(&people, &json!({"name": "a".repeat(100_000)})).unwrap_err();
        assert!(long.len() < 500 && long.ends_with('…'), "{long}");
        assert_eq!(schemas.check(&"others".parse().unwrap(), &json!({})), Ok(()));
    }

    #[test]
    fn a_schema_that_refers_to_itself_in_several_branches_is_answered_in_time() {
        let (mut schemas, trees): (Schemas, Name) = (Schemas::default(), "trees".parse().unwrap());
        let node = |kind: &str| json!({"required": ["left"], "properties": {"left": {"$ref": "#"}, "kind": {"const": kind}}});
        schemas.add(trees.clone(), &json!({"oneOf": [{"type": "integer"}, node("a"), node("b"), node("c")]})).unwrap();
        let deep = (0..60).fold(json!("wrong"), |tree, _| json!({"left": tree}));
        assert_eq!(schemas.check(&trees, &deep), Err("does not fit the schema of trees".to_owned()));
        assert!(schemas.check(&trees, &json!({"left": "wrong"})).unwrap_err().contains("the object: "));
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        let mut schemas = Schemas::default();
        for (schema, told) in [
            (json!({"type": "text"}), "/type"),
            (
                json!({"properties": {"a": {"$ref": "https://example.org/a.json"}}}),
                "refers to https://example.org/a.json, which is not in it: a schema is one file",
            ),
            (json!({"properties": {"a": {"$ref": "file:///etc/passwd"}}}), "refers to file:///etc/passwd, which is not in it"),
            (json!({"properties": {"a": {"$ref": "other.json#/$defs/a"}}}), "other.json#/$defs/a, which is not in it"),
            (json!({"properties": {"a": {"$ref": "#/$defs/a"}}}), "no JSON Schema"),
            (json!({"pattern": "(a"}), "no JSON Schema"),
            (json!([]), "no JSON Schema"),
        ] {
            let refused = schemas.add("people".parse().unwrap(), &schema).unwrap_err();
            assert!(refused.contains(told), "{schema}: {refused}");
        }
        assert!(!schemas.has(&"people".parse().unwrap()));
    }
}
