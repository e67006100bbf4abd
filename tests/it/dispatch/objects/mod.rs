//! Objects: stored values are returned unchanged, indexes find the same objects as a full scan, and contexts are
//! isolated.

mod indexes;
mod model;
mod scripts;
mod typed;

use hero::dispatch::{Error, Objects, Room};
use hero::model::{Find, Json, Name, ObjectId, ObjectPage};
use serde_json::{Value, json};

use crate::support::{Redis, objects};

/// A Redis of its own, and the objects of context 0 in it.
struct Shelf {
    redis: Redis,
    objects: Objects,
}

impl Shelf {
    async fn open() -> Self {
        let redis = Redis::start().await;
        let objects = objects(&redis.store().await);
        Self { redis, objects }
    }

    async fn set(&self, collection: &str, object: Value) -> ObjectId {
        self.objects.set(&name(collection), &object.into()).await.unwrap()
    }

    async fn get(&self, collection: &str, id: &str) -> Option<Value> {
        let object = self.objects.get(&name(collection), &id.parse().unwrap()).await.unwrap();
        object.map(|object| object.to_value().unwrap())
    }

    async fn find(&self, collection: &str, query: Value) -> ObjectPage {
        self.objects.find(&name(collection), &wanted(query), Room::OF_CLIENT).await.unwrap()
    }

    /// The ids of all objects that a query wants, page by page.
    async fn ids(&self, collection: &str, query: Value) -> Vec<String> {
        let (mut query, mut found) = (wanted(query), Vec::new());
        loop {
            let page = self.objects.find(&name(collection), &query, Room::OF_CLIENT).await.unwrap();
            assert!(page.objects.len() <= query.limit.unwrap_or(100) as usize);
            found.extend(page.objects.iter().map(id_of));
            query.cursor = page.next_cursor;
            if query.cursor.is_none() {
                return found;
            }
        }
    }

    async fn refusal(&self, collection: &str, query: Value) -> String {
        match self.objects.find(&name(collection), &wanted(query), Room::OF_CLIENT).await {
            Err(error @ Error::Invalid { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    async fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self.redis.run(&["KEYS", "*"]).await;
        keys.retain(|key| key.contains("osis") || key.contains("collections"));
        keys.sort();
        keys
    }
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn wanted(query: Value) -> Find {
    // As a query comes from a script or from a client.
    serde_json::from_str(&query.to_string()).unwrap()
}

fn id_of(object: &Json) -> String {
    object.to_value().unwrap()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_object_comes_back_as_it_was_stored_with_its_own_id_or_a_new_one() {
    let shelf = Shelf::open().await;
    let ada = json!({"id": "ada", "z": 1, "a": [1.5, null, {"deep": "\u{0}é"}], "big": i64::MAX, "small": i64::MIN});
    assert_eq!(shelf.set("people", ada.clone()).await.as_str(), "ada");
    assert_eq!(shelf.get("people", "ada").await, Some(ada));
    let new = shelf.set("people", json!({"name": "Alan"})).await;
    assert_eq!(shelf.get("people", new.as_str()).await, Some(json!({"id": new.as_str(), "name": "Alan"})));
    let other = shelf.set("people", json!({"id": null, "name": "Grace"})).await;
    assert_ne!(new, other);

    shelf.set("people", json!({"id": "ada", "born": 1815})).await;
    assert_eq!(shelf.get("people", "ada").await, Some(json!({"id": "ada", "born": 1815})), "it is replaced as a whole");
    assert_eq!(shelf.get("people", "nobody").await, None);
    assert_eq!(shelf.get("others", "ada").await, None);
    let (people, ada, nobody) = (name("people"), "ada".parse().unwrap(), "nobody".parse().unwrap());
    assert!(shelf.objects.exists(&people, &ada).await.unwrap() && !shelf.objects.exists(&people, &nobody).await.unwrap());
    assert!(shelf.objects.delete(&people, &ada).await.unwrap() && !shelf.objects.delete(&people, &ada).await.unwrap());
    assert_eq!(shelf.get("people", "ada").await, None);
}

#[tokio::test]
async fn what_cannot_be_stored_is_refused_with_a_reason() {
    let shelf = Shelf::open().await;
    for (object, reason) in [
        ("[1]".to_owned(), "is not an object"),
        ("7".to_owned(), "is not an object"),
        (r#"{"id": 7}"#.to_owned(), "an id that is no text"),
        (r#"{"id": ""}"#.to_owned(), "1 to 256 bytes"),
        (r#"{"id": "a\nb"}"#.to_owned(), "control characters"),
        (r#"{"n": 9223372036854775808}"#.to_owned(), "object.n"),
        (format!(r#"{{"text": "{}"}}"#, "x".repeat(1 << 20)), "object has 1048"),
    ] {
        let json: Json = serde_json::from_str(&object).unwrap();
        let error = shelf.objects.set(&name("people"), &json).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    assert_eq!(shelf.keys().await, Vec::<String>::new());
    for (query, reason) in [
        (json!({"limit": 0}), "from 1 to 1000"),
        (json!({"limit": 1001}), "from 1 to 1000"),
        (json!({"cursor": "nonsense"}), "is not a cursor"),
        (json!({"filter": {"a..b": 1}}), "is not a field"),
        (json!({"filter": {"": 1}}), "is not a field"),
        (json!({"order_by": "born"}), "osis::index makes it"),
    ] {
        let refusal = shelf.refusal("people", query.clone()).await;
        assert!(refusal.contains(reason), "{query}: {refusal}");
    }
    let many: serde_json::Map<_, _> = (0..17).map(|at| (format!("f{at}"), json!(at))).collect();
    assert!(shelf.refusal("people", json!({ "filter": many })).await.contains("more than 16"));
    let of = |from: &str| serde_json::from_str::<Find>(from).unwrap_err().to_string();
    assert!(of(r#"{"filter": {"a": {"like": 1}}}"#).contains("unknown bound \"like\""));
    assert!(of(r#"{"wher": {}}"#).contains("wher"));
}

#[tokio::test]
async fn what_was_deleted_or_dropped_leaves_nothing_behind() {
    let shelf = Shelf::open().await;
    let people = name("people");
    shelf.set("people", json!({"id": "ada", "tags": ["a", "b"]})).await;
    shelf.objects.index(&people, &["tags".to_owned(), "born".to_owned()]).await.unwrap();
    shelf.set("people", json!({"id": "alan", "tags": ["b"]})).await;
    assert!(shelf.objects.delete(&people, &"ada".parse().unwrap()).await.unwrap());
    let index: Vec<String> = shelf.redis.run(&["ZRANGE", "hero:osis:people:index:tags", "0", "-1"]).await;
    assert_eq!(index, ["4b\0alan"]);
    assert_eq!(shelf.objects.drop_collection(&people).await.unwrap(), Some(1));
    assert_eq!(shelf.objects.drop_collection(&people).await.unwrap(), None);
    assert_eq!(shelf.keys().await, Vec::<String>::new());

    // A collection without indexes goes with its last object, one with indexes with its last index.
    shelf.set("people", json!({"id": "ada"})).await;
    assert!(shelf.objects.delete(&people, &"ada".parse().unwrap()).await.unwrap());
    assert_eq!(shelf.keys().await, Vec::<String>::new());
    shelf.objects.index(&people, &["born".to_owned()]).await.unwrap();
    shelf.set("people", json!({"id": "ada"})).await;
    assert!(shelf.objects.delete(&people, &"ada".parse().unwrap()).await.unwrap());
    assert_eq!(shelf.keys().await, ["hero:meta:collections", "hero:osis:people"]);
    assert!(shelf.objects.drop_index(&people, "born").await.unwrap() && !shelf.objects.drop_index(&people, "born").await.unwrap());
    assert_eq!(shelf.keys().await, Vec::<String>::new());
}

#[tokio::test]
async fn there_is_an_end_to_collections_and_indexes() {
    let shelf = Shelf::open().await;
    let names: Vec<String> = (0..1000).map(|at| format!("c{at}")).collect();
    let add: Vec<&str> = ["SADD", "hero:meta:collections"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let _: i64 = shelf.redis.run(&add).await;
    let full = |refused: Result<(), Error>| {
        assert!(matches!(&refused, Err(Error::Full { what, .. }) if what.contains("1000 collections")), "{refused:?}")
    };
    full(shelf.objects.set(&name("one-more"), &json!({}).into()).await.map(drop));
    full(shelf.objects.index(&name("one-more"), &["a".to_owned()]).await);
    shelf.set("c7", json!({"id": "a"})).await;
    let fields: Vec<String> = (0..17).map(|at| format!("f{at}")).collect();
    let error = shelf.objects.index(&name("c7"), &fields).await.unwrap_err().to_string();
    assert!(error.contains("more than 16 indexes"), "{error}");
    shelf.objects.index(&name("c7"), &fields[..16]).await.unwrap();
    let error = shelf.objects.set(&name("c7"), &json!({"f3": (0..257).collect::<Vec<_>>()}).into()).await.unwrap_err().to_string();
    assert!(error.contains("f3 has an index and 257 different elements"), "{error}");
    let all: serde_json::Map<_, _> = fields.iter().map(|field| (field.clone(), json!((0..65).collect::<Vec<_>>()))).collect();
    let error = shelf.objects.set(&name("c7"), &serde_json::Value::from(all).into()).await.unwrap_err().to_string();
    assert!(error.contains("1040 entries in indexes"), "{error}");
    shelf.set("c7", json!({"f3": vec![1; 5000]})).await;
}

#[tokio::test]
async fn what_others_made_of_the_keys_of_a_collection_gives_way() {
    let shelf = Shelf::open().await;
    for key in ["hero:osis:people", "hero:osis:people:objects", "hero:osis:people:entries", "hero:osis:people:ids", "hero:meta:collections"]
    {
        let _: String = shelf.redis.run(&["SET", key, "a text"]).await;
        shelf.objects.index(&name("people"), &["born".to_owned()]).await.unwrap();
        shelf.set("people", json!({"id": "ada", "born": 1815})).await;
        assert_eq!(shelf.ids("people", json!({"filter": {"born": 1815}})).await, ["ada"], "{key}");
    }
}

#[tokio::test]
async fn a_redis_without_memory_refuses_objects_and_lets_them_go() {
    let shelf = Shelf::open().await;
    shelf.set("people", json!({"id": "ada"})).await;
    let _: String = shelf.redis.run(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let refused = shelf.objects.set(&name("people"), &json!({"id": "alan"}).into()).await;
    assert!(matches!(refused, Err(Error::Full { .. })), "{refused:?}");
    assert_eq!(shelf.get("people", "ada").await, Some(json!({"id": "ada"})));
    assert!(shelf.objects.delete(&name("people"), &"ada".parse().unwrap()).await.unwrap());
    let _: String = shelf.redis.run(&["CONFIG", "SET", "maxmemory", "0"]).await;
    shelf.set("people", json!({"id": "alan"})).await;
}

#[tokio::test]
async fn no_context_sees_the_objects_of_another() {
    let redis = Redis::start().await;
    let of = |context| {
        let plan = redis.plan().of(hero::model::ContextId(context));
        async move { objects(&plan.store().await) }
    };
    let (zero, one) = (of(0).await, of(1).await);
    let people = name("people");
    zero.set(&people, &json!({"id": "ada", "of": 0}).into()).await.unwrap();
    assert_eq!(one.get(&people, &"ada".parse().unwrap()).await.unwrap(), None);
    assert_eq!(one.collections().await.unwrap(), []);
    one.set(&people, &json!({"id": "ada", "of": 1}).into()).await.unwrap();
    one.index(&people, &["of".to_owned()]).await.unwrap();
    assert!(zero.delete(&people, &"ada".parse().unwrap()).await.unwrap());
    let left = one.find(&people, &wanted(json!({"filter": {"of": 1}})), Room::OF_CLIENT).await.unwrap();
    assert_eq!((left.objects.len(), left.compared.len()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_leave_memory_to_jobs() {
    let house = crate::support::House::open(1).await;
    let objects = house.dispatcher.contexts().objects(crate::support::CONTEXT).await.unwrap();
    let used = house.redis.memory("used_memory").await;
    // Three quarters of this are used.
    let _: String = house.redis.run(&["CONFIG", "SET", "maxmemory", &(used * 4 / 3).to_string()]).await;
    crate::support::until("it is noticed that memory is short", || async {
        let refused = objects.set(&name("people"), &json!({"id": "ada"}).into()).await;
        refused.is_err_and(|error| error.to_string().contains("what is left is for jobs")).then_some(())
    })
    .await;
    assert_eq!(house.run("40 + 2").await.unwrap().output, "42");
    let _: String = house.redis.run(&["CONFIG", "SET", "maxmemory", "0"]).await;
    crate::support::until("memory is there again", || async { objects.set(&name("people"), &json!({"id": "ada"}).into()).await.ok() })
        .await;
    house.close().await;
}
