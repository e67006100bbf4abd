use std::sync::Arc;

use hero::dispatch::{Error, Objects, Schemas};
use serde_json::json;

use super::name;
use crate::support::Redis;

#[tokio::test]
async fn an_object_that_does_not_fit_its_schema_is_refused_with_the_path_that_failed() {
    let redis = Redis::start().await;
    let mut schemas = Schemas::default();
    let schema = json!({
        "type": "object",
        "required": ["id", "name"],
        "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "address": {"properties": {"zip": {"type": "integer"}}}},
        "additionalProperties": false,
    });
    schemas.add(name("people"), &schema).unwrap();
    let objects = Objects::new(redis.store().await, Arc::new(schemas));
    let people = name("people");
    objects.set(&people, &json!({"name": "Ada", "address": {"zip": 9000}}).into()).await.unwrap();
    for (object, path) in [
        (json!({"name": 7}), "/name"),
        (json!({"name": "Ada", "address": {"zip": "9000"}}), "/address/zip"),
        (json!({"name": "Ada", "age": 36}), "age"),
        (json!({"address": {}}), "name"),
    ] {
        match objects.set(&people, &object.clone().into()).await {
            Err(Error::Invalid { param: "object", message }) => {
                assert!(message.starts_with("does not fit the schema of people: ") && message.contains(path), "{object}: {message}");
            }
            other => panic!("{object}: {other:?}"),
        }
    }
    objects.set(&name("others"), &json!({"name": 7}).into()).await.unwrap();
    let typed: Vec<bool> = objects.collections().await.unwrap().iter().map(|collection| collection.typed).collect();
    assert_eq!(typed, [false, true]);
}
