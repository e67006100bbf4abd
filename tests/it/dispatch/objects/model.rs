//! Random objects and random queries: with any index, the answer equals that of a full scan.

use std::collections::BTreeMap;

use hero::model::SortKey;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use super::{Shelf, name};

const FIELDS: [&str; 3] = ["a", "b", "c.d"];

fn value(random: &mut StdRng) -> Value {
    match random.random_range(0..10) {
        0 => Value::Null,
        1 => json!(random.random::<bool>()),
        2..=4 => json!(random.random_range(-3..4)),
        5 => json!(f64::from(random.random_range(-6..7)) / 2.0),
        6..=8 => json!(["", "a", "ab", "abc", "b", "\u{0}", "a\u{0}", "é"][random.random_range(0..8)]),
        _ => json!({"x": 1}),
    }
}

fn field(random: &mut StdRng) -> Value {
    if random.random_range(0..4) > 0 {
        return value(random);
    }
    (0..random.random_range(0..4)).map(|_| value(random)).collect()
}

fn object(random: &mut StdRng, id: u32) -> Value {
    let mut object = json!({"id": format!("{id:02}")});
    for name in ["a", "b"] {
        if random.random_range(0..5) > 0 {
            object[name] = field(random);
        }
    }
    if random.random_range(0..5) > 0 {
        object["c"] = json!({"d": field(random)});
    }
    object
}

fn condition(random: &mut StdRng) -> Value {
    let scalar = |random: &mut StdRng| loop {
        match value(random) {
            Value::Object(_) => {}
            scalar => return scalar,
        }
    };
    if random.random() {
        return scalar(random);
    }
    let mut range = serde_json::Map::new();
    for bound in ["gte", "gt", "lte", "lt"] {
        if random.random_range(0..3) == 0 {
            let value = scalar(random);
            if !value.is_null() {
                range.insert(bound.to_owned(), value);
            }
        }
    }
    if range.is_empty() || random.random_range(0..4) == 0 {
        range.insert("prefix".to_owned(), json!(["", "a", "ab"][random.random_range(0..3)]));
    }
    range.into()
}

/// The values of a field, each alone.
fn values(object: &Value, field: &str) -> Vec<Value> {
    let value = field.split('.').fold(object.clone(), |value, name| value.get(name).cloned().unwrap_or_default());
    match value {
        Value::Array(items) if !items.is_empty() => items,
        value => vec![value],
    }
}

/// Whether a value is so, said in another way than the program does.
fn fits(value: &Value, condition: &Value) -> bool {
    let kind = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        _ => 4,
    };
    let order = |one: &Value, other: &Value| match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64().unwrap().total_cmp(&other.as_f64().unwrap()),
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        _ => std::cmp::Ordering::Equal,
    };
    let Value::Object(range) = condition else {
        return kind(value) == kind(condition) && kind(value) < 4 && order(value, condition).is_eq();
    };
    range.iter().all(|(bound, limit)| match bound.as_str() {
        "prefix" => value.as_str().is_some_and(|text| text.starts_with(limit.as_str().unwrap())),
        _ if kind(value) != kind(limit) => false,
        "gte" => order(value, limit).is_ge(),
        "gt" => order(value, limit).is_gt(),
        "lte" => order(value, limit).is_le(),
        _ => order(value, limit).is_lt(),
    })
}

#[tokio::test]
async fn an_index_finds_what_a_look_at_every_object_finds() {
    for seed in 0..6 {
        let (shelf, mut random) = (Shelf::open().await, StdRng::seed_from_u64(seed));
        let (things, mut model) = (name("things"), BTreeMap::<String, Value>::new());
        for step in 0..120 {
            let id = random.random_range(0..40);
            if random.random_range(0..6) == 0 {
                let id = format!("{id:02}");
                let was = shelf.objects.delete(&things, &id.parse().unwrap()).await.unwrap();
                assert_eq!(was, model.remove(&id).is_some(), "seed {seed}, step {step}");
            } else {
                let object = object(&mut random, id);
                shelf.set("things", object.clone()).await;
                model.insert(format!("{id:02}"), object);
            }
            if step % 40 == 20 {
                let field = FIELDS[random.random_range(0..FIELDS.len())].to_owned();
                if random.random_range(0..3) == 0 {
                    shelf.objects.drop_index(&things, &field).await.unwrap();
                } else {
                    shelf.objects.index(&things, &[field]).await.unwrap();
                }
            }
        }
        let ready = shelf.objects.collections().await.unwrap().remove(0).indexes;
        for _ in 0..60 {
            let mut conditions = serde_json::Map::new();
            for field in FIELDS {
                if random.random_range(0..2) == 0 {
                    conditions.insert(field.to_owned(), condition(&mut random));
                }
            }
            let descending: bool = random.random();
            let mut query = json!({"filter": conditions, "descending": descending, "limit": random.random_range(1..12)});
            let holds =
                |object: &Value| conditions.iter().all(|(field, wanted)| values(object, field).iter().any(|value| fits(value, wanted)));
            let mut expected: Vec<String> = model.iter().filter(|(_, object)| holds(object)).map(|(id, _)| id.clone()).collect();
            if let Some(index) = ready.first().filter(|_| random.random()) {
                query["order_by"] = json!(index.field);
                // Of an array the first element that fits counts, from where one comes.
                let place = |id: &String| {
                    let wanted = conditions.get(&index.field);
                    let values = values(&model[id], &index.field);
                    let keys = values.iter().filter(|value| wanted.is_none_or(|wanted| fits(value, wanted))).map(SortKey::of);
                    let key = if descending { keys.max() } else { keys.min() };
                    (key.unwrap(), id.clone())
                };
                expected.sort_by_key(place);
                if descending {
                    expected.reverse();
                }
                assert_eq!(shelf.ids("things", query.clone()).await, expected, "seed {seed}: {query}");
            } else {
                let mut found = shelf.ids("things", query.clone()).await;
                found.sort();
                assert_eq!(found, expected, "seed {seed}: {query}");
            }
        }
    }
}
