use std::collections::BTreeMap;

use rhai::{Array, Dynamic, ImmutableString, Map, NativeCallContext};

use super::asking::{answered, ask, json};
use super::definition::{Definition, Functions};
use crate::ObjectCall;
use crate::rhai::convert;
use crate::rhai::native::{Native, excerpt, failed};
use hero_model::{Comparison, Condition, Find, Name, ObjectId, conditions};

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "osis::new(collection: string) -> map",
        description: "Returns an empty object with a new id. Nothing is stored yet.",
        errors: "the name of the collection is invalid: it has 1 to 128 letters, digits, `_`, `.` or `-`.",
        example: "let ada = osis::new(\"people\"); ada.name = \"Ada\"; osis::set(\"people\", ada) == ada.id",
        result: "true",
    },
    Definition {
        signature: "osis::set(collection: string, object: map) -> string",
        description: "Stores an object, replacing one with the same `id`, and returns its id; an object without an id gets a new one. The object and its index entries are written in one step.",
        errors: "the object does not fit the schema of the collection (the message says where), is larger than 240 KB, has more than 9,000 values, or contains something that JSON does not support.",
        example: "osis::set(\"people\", #{ id: \"ada\", name: \"Ada\", born: 1815 })",
        result: r#""ada""#,
    },
    Definition {
        signature: "osis::get(collection: string, id: string) -> map|nothing",
        description: "Returns an object, or `()` if there is none with this id.",
        errors: "the name of the collection or the id is invalid.",
        example: "osis::set(\"people\", #{ id: \"ada\", born: 1815 }); osis::get(\"people\", \"ada\").born",
        result: "1815",
    },
    Definition {
        signature: "osis::exists(collection: string, id: string) -> bool",
        description: "Returns whether there is an object with this id.",
        errors: "the name of the collection or the id is invalid.",
        example: "osis::exists(\"people\", \"nobody\")",
        result: "false",
    },
    Definition {
        signature: "osis::delete(collection: string, id: string) -> bool",
        description: "Deletes an object, and returns whether it existed.",
        errors: "the name of the collection or the id is invalid.",
        example: "osis::set(\"people\", #{ id: \"eve\" }); osis::delete(\"people\", \"eve\")",
        result: "true",
    },
    Definition {
        signature: "osis::list(collection: string, page?: map) -> map",
        description: "Returns objects in the order of their ids: `objects`, and `next_cursor` if more follow. The page may have a `limit` (100 by default, at most 1,000) and the `cursor` of the previous page.",
        errors: "the limit or the cursor is invalid.",
        example: "for id in [\"a\", \"b\", \"c\"] { osis::set(\"letters\", #{ id: id }); }\nlet page = osis::list(\"letters\", #{ limit: 2 });\nlet rest = osis::list(\"letters\", #{ cursor: page.next_cursor });\n[page.objects.len(), rest.objects[0].id]",
        result: r#"[2,"c"]"#,
    },
    Definition {
        signature: "osis::find(collection: string, query: map) -> map",
        description: "Returns the objects that match a query: `objects`, and `next_cursor` if more follow. The query may have `filter` (conditions on fields: a value, or a map of `gte`, `gt`, `lte`, `lt` and `prefix`; or texts such as `born>=1800`, of which HeroScript can write a list), `order_by` (a field with an index), `descending`, `limit` and `cursor`. An array field matches if one of its elements does, and a missing field is `()`. One index is used: that of `order_by`, or of a field in `filter`. Fields without a used index are named in `compared`: objects are read one after another for them, at most 10,000 for a page. A page has at most 240 KB.",
        errors: "the query is invalid, or `order_by` names a field without an index.",
        example: "osis::index(\"people\", [\"born\"]);\nosis::set(\"people\", #{ id: \"ada\", born: 1815 });\nosis::set(\"people\", #{ id: \"alan\", born: 1912 });\nlet found = osis::find(\"people\", #{ filter: #{ born: #{ gte: 1900 } }, order_by: \"born\", limit: 10 });\nfound.objects.map(|person| person.id)",
        result: r#"["alan"]"#,
    },
    Definition {
        signature: "osis::index(collection: string, fields: array) -> nothing",
        description: "Makes indexes, in addition to those that the collection has; existing indexes stay. `address.city` is a field of a field, and a dot in a name has a backslash before it. The call returns when the indexes are in use, which takes a while for many objects. It does not block callers that store or read objects.",
        errors: "a field name is invalid, or the collection would have more than 16 indexes.",
        example: "osis::index(\"people\", [\"born\", \"address.city\"])",
        result: "",
    },
    Definition {
        signature: "osis::drop_index(collection: string, field: string) -> bool",
        description: "Drops an index, and returns whether it existed. The objects stay.",
        errors: "the name of the collection is invalid.",
        example: "osis::index(\"people\", [\"name\"]); osis::drop_index(\"people\", \"name\")",
        result: "true",
    },
];

pub(super) fn add(functions: &mut Functions<'_>) {
    functions.add("osis::new", |context: NativeCallContext, collection: &str| -> Native<Map> {
        name(&context, collection)?;
        Ok(Map::from([("id".into(), ImmutableString::from(ObjectId::random().as_str()).into())]))
    });
    let run = functions.run();
    functions.add("osis::set", move |context: NativeCallContext, collection: &str, object: Map| {
        let collection = name(&context, collection)?;
        let mut object = object;
        // The id is made here, so that a script that gets no answer knows which object it may have stored.
        let new = object.get("id").is_none_or(Dynamic::is_unit).then(ObjectId::random);
        if let Some(id) = &new {
            object.insert("id".into(), ImmutableString::from(id.as_str()).into());
        }
        let object = json(&context, |cap| convert::json_of_map(&object, cap))?;
        let asked = run.ask(ObjectCall::Set { collection, object }.into())?;
        let told = |refusal: String| new.as_ref().map_or_else(|| refusal.clone(), |id| format!("{refusal} (id {id})"));
        answered(&context, asked.map_err(told))
    });
    let run = functions.run();
    functions.add("osis::get", move |context: NativeCallContext, collection: &str, id: &str| {
        ask(&context, &run, ObjectCall::Get { collection: name(&context, collection)?, id: object_id(&context, id)? })
    });
    let run = functions.run();
    functions.add("osis::exists", move |context: NativeCallContext, collection: &str, id: &str| {
        ask(&context, &run, ObjectCall::Has { collection: name(&context, collection)?, id: object_id(&context, id)? })
    });
    let run = functions.run();
    functions.add("osis::delete", move |context: NativeCallContext, collection: &str, id: &str| {
        ask(&context, &run, ObjectCall::Delete { collection: name(&context, collection)?, id: object_id(&context, id)? })
    });
    let run = functions.run();
    functions.add("osis::list", move |context: NativeCallContext, collection: &str| {
        ask(&context, &run, ObjectCall::Find { collection: name(&context, collection)?, query: Find::default() })
    });
    for function in ["osis::list", "osis::find"] {
        let run = functions.run();
        functions.add(function, move |context: NativeCallContext, collection: &str, query: Map| {
            let (written, mut query) = (written_conditions(&context, &query)?, query);
            if written.is_some() {
                query.remove("filter");
            }
            let mut query: Find = json(&context, |cap| convert::json_of_map(&query, cap))?;
            query.conditions.extend(written.into_iter().flatten());
            if function == "osis::list" && !(query.conditions.is_empty() && query.order_by.is_none() && !query.descending) {
                return Err(failed(&context, "osis::list takes limit and cursor only; osis::find takes more"));
            }
            ask(&context, &run, ObjectCall::Find { collection: name(&context, collection)?, query })
        });
    }
    let run = functions.run();
    functions.add("osis::index", move |context: NativeCallContext, collection: &str, fields: Array| {
        let fields = json(&context, |cap| convert::json_of_array(&fields, cap))?;
        ask(&context, &run, ObjectCall::Index { collection: name(&context, collection)?, fields })
    });
    let run = functions.run();
    functions.add("osis::drop_index", move |context: NativeCallContext, collection: &str, field: &str| {
        ask(&context, &run, ObjectCall::DropIndex { collection: name(&context, collection)?, field: field.to_owned() })
    });
}

/// Returns the conditions of a query that are written as texts, if there are any: `born>=1800`, or several in an array.
fn written_conditions(context: &NativeCallContext<'_>, query: &Map) -> Native<Option<BTreeMap<String, Condition>>> {
    let texts = match query.get("filter") {
        Some(one) if one.is_string() => vec![one.clone()],
        Some(several) if several.is_array() => several.clone().into_array().unwrap_or_default(),
        _ => return Ok(None),
    };
    let wrong = |why: String| failed(context, format!("filter: {why}"));
    let read = |text: Dynamic| match text.into_immutable_string() {
        Ok(text) => text.parse().map_err(|why| wrong(format!("{:?}: {why}", excerpt(&text)))),
        Err(kind) => Err(wrong(format!("an array of texts such as \"born>=1800\" is expected, and one is {kind}"))),
    };
    let comparisons: Vec<Comparison> = texts.into_iter().map(read).collect::<Native<_>>()?;
    conditions(&comparisons).map(Some).map_err(wrong)
}

fn name(context: &NativeCallContext<'_>, collection: &str) -> Native<Name> {
    collection.parse().map_err(|error| failed(context, format!("the collection {error}")))
}

fn object_id(context: &NativeCallContext<'_>, id: &str) -> Native<ObjectId> {
    id.parse().map_err(|error| failed(context, format!("{:?} is not an id: {error}", excerpt(id))))
}
