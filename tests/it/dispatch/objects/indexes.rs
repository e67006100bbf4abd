use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use serde_json::json;

use super::{Shelf, id_of, name};

#[tokio::test]
async fn pages_go_on_where_the_last_ended_in_any_order() {
    let shelf = Shelf::open().await;
    for at in 0..25 {
        shelf.set("things", json!({"id": format!("t{at:02}"), "size": at % 7, "odd": at % 2 == 1})).await;
    }
    shelf.objects.index(&name("things"), &["size".to_owned()]).await.unwrap();
    let mut expected: Vec<(i32, String)> = (0..25).map(|at| (at % 7, format!("t{at:02}"))).collect();
    expected.sort();
    let ids = |pairs: &[(i32, String)]| pairs.iter().map(|(_, id)| id.clone()).collect::<Vec<_>>();
    assert_eq!(shelf.ids("things", json!({"order_by": "size", "limit": 4})).await, ids(&expected));
    let range = json!({"order_by": "size", "filter": {"size": {"gt": 1, "lte": 4}}, "limit": 3});
    let inside: Vec<_> = expected.iter().filter(|(size, _)| (2..=4).contains(size)).cloned().collect();
    assert_eq!(shelf.ids("things", range).await, ids(&inside));
    expected.reverse();
    assert_eq!(shelf.ids("things", json!({"order_by": "size", "descending": true, "limit": 4})).await, ids(&expected));
    let all: Vec<String> = (0..25).map(|at| format!("t{at:02}")).collect();
    assert_eq!(shelf.ids("things", json!({"limit": 6})).await, all);
    assert_eq!(shelf.ids("things", json!({"order_by": "id", "limit": 1})).await, all);
    let backwards: Vec<String> = all.iter().rev().cloned().collect();
    assert_eq!(shelf.ids("things", json!({"descending": true, "limit": 10})).await, backwards);
    let odd: Vec<String> = (0..25).filter(|at| at % 2 == 1).map(|at| format!("t{at:02}")).collect();
    assert_eq!(shelf.ids("things", json!({"filter": {"odd": true}, "limit": 2})).await, odd);
    assert_eq!(shelf.ids("things", json!({"filter": {"id": "t07"}})).await, ["t07"]);
    assert_eq!(shelf.ids("things", json!({"filter": {"id": {"prefix": "t1"}}})).await, all[10..20]);
    assert_eq!(shelf.ids("nothing", json!({})).await, Vec::<String>::new());
    for (wanted, many) in [
        (json!({"gte": "t20"}), 5),
        (json!({"gt": "t20"}), 4),
        (json!({"lt": "t02"}), 2),
        (json!({"lte": "t02"}), 3),
        (json!({"gte": "t03", "lt": "t05"}), 2),
        (json!({"prefix": "x"}), 0),
        (json!({"prefix": ""}), 25),
        (json!(7), 0),
        (json!({"gte": 7}), 0),
        (json!(null), 0),
    ] {
        for descending in [false, true] {
            let query = json!({"filter": {"id": wanted}, "descending": descending, "limit": 2});
            assert_eq!(shelf.ids("things", query).await.len(), many, "{wanted}");
        }
        assert!(shelf.find("things", json!({"filter": {"id": wanted}})).await.looked_at <= many as u64 + 1, "{wanted}");
    }
}

#[tokio::test]
async fn a_cursor_of_another_collection_is_refused() {
    let shelf = Shelf::open().await;
    for collection in ["letters", "numbers"] {
        for id in ["a", "b", "c"] {
            shelf.set(collection, json!({"id": id, "size": 1})).await;
        }
        shelf.objects.index(&name(collection), &["size".to_owned()]).await.unwrap();
    }
    for query in [json!({"limit": 1}), json!({"limit": 1, "order_by": "size"})] {
        let mut query = query;
        query["cursor"] = json!(shelf.find("letters", query.clone()).await.next_cursor.unwrap());
        assert_eq!(id_of(&shelf.find("letters", query.clone()).await.objects[0]), "b");
        let refusal = shelf.refusal("numbers", query).await;
        assert!(refusal.contains("it belongs to the collection letters, not to numbers"), "{refusal}");
    }
}

#[tokio::test]
async fn a_field_whose_name_has_a_dot_is_asked_for_with_a_backslash() {
    let shelf = Shelf::open().await;
    shelf.set("things", json!({"id": "name", "a.b": 1})).await;
    shelf.set("things", json!({"id": "path", "a": {"b": 1}})).await;
    let asked = [(r"a\.b", "name"), ("a.b", "path")];
    for indexed in [false, true] {
        for (field, id) in asked {
            let page = shelf.find("things", json!({"filter": {field: 1}})).await;
            assert_eq!(
                (page.objects.iter().map(id_of).collect::<Vec<_>>(), page.compared.is_empty()),
                (vec![id.to_owned()], indexed),
                "{field}"
            );
        }
        shelf.objects.index(&name("things"), &asked.map(|(field, _)| field.to_owned())).await.unwrap();
    }
    assert_eq!(shelf.ids("things", json!({"order_by": r"a\.b"})).await, ["path", "name"]);
    let refusal = shelf.refusal("things", json!({"filter": {"a..b": 1}})).await;
    assert!(refusal.contains("a dot in a name has a backslash before it"), "{refusal}");
}

#[tokio::test]
async fn a_query_without_an_index_says_so_and_is_looked_at_in_part() {
    let shelf = Shelf::open().await;
    let things = name("things");
    let store = async |at: i32| shelf.objects.set(&things, &json!({"id": format!("{at:05}"), "size": at}).into()).await.unwrap();
    for many in (0..10_050).collect::<Vec<_>>().chunks(512) {
        join_all(many.iter().map(|at| store(*at))).await;
    }
    let page = shelf.find("things", json!({"filter": {"size": {"gte": 10_020}}, "limit": 20})).await;
    assert_eq!((page.objects.len(), page.looked_at, page.compared), (0, 10_000, vec!["size".to_owned()]));
    let rest = shelf.find("things", json!({"filter": {"size": {"gte": 10_020}}, "limit": 20, "cursor": page.next_cursor})).await;
    assert_eq!((rest.objects.len(), id_of(&rest.objects[0])), (20, "10020".to_owned()));
    assert_eq!(shelf.ids("things", json!({"filter": {"size": {"gte": 10_020}}})).await.len(), 30);

    shelf.objects.index(&things, &["size".to_owned()]).await.unwrap();
    let page = shelf.find("things", json!({"filter": {"size": {"gte": 10_020}}, "limit": 20})).await;
    assert_eq!((page.objects.len(), page.looked_at, page.compared.len()), (20, 20, 0));
    let collections = shelf.objects.collections().await.unwrap();
    assert_eq!(
        serde_json::to_value(&collections).unwrap(),
        json!([{
            "name": "things", "objects": 10_050, "indexes": [{"field": "size", "ready": true}], "typed": false,
        }])
    );
}

#[tokio::test]
async fn an_index_that_is_made_while_objects_are_stored_has_all_of_them() {
    let shelf = Shelf::open().await;
    let things = name("things");
    let set = async |id: i32, size: i32| {
        shelf.objects.set(&things, &json!({"id": format!("{id:04}"), "size": size, "tags": [size, "all"]}).into()).await.unwrap();
    };
    join_all((0..1500).map(|id| set(id, 0))).await;
    let other = crate::support::objects(&shelf.redis.store().await);
    let fields = ["size".to_owned(), "tags".to_owned()];
    let writer = async {
        for round in 1..=4 {
            join_all((0..1500).filter(|id| id % 3 == round % 3).map(|id| set(id, round))).await;
            join_all((0..1500).filter(|id| id % 50 == round).map(async |id| {
                other.delete(&things, &format!("{id:04}").parse().unwrap()).await.unwrap();
            }))
            .await;
        }
    };
    // Two make the same index at once, one of them with another cache of what is known.
    let (first, second, ()) = tokio::join!(shelf.objects.index(&things, &fields), other.index(&things, &fields), writer);
    first.unwrap();
    second.unwrap();
    let scanned = |size: i32| json!({"filter": {"id": {"prefix": ""}, "size": size}, "limit": 1000});
    for size in 0..=4 {
        let mut looked: Vec<String> = shelf.ids("things", scanned(size)).await;
        let indexed = shelf.ids("things", json!({"filter": {"size": size}, "limit": 1000})).await;
        let tagged = shelf.ids("things", json!({"filter": {"tags": size}, "limit": 1000})).await;
        looked.sort();
        assert_eq!((&indexed, &tagged), (&looked, &looked), "{size}");
    }
    let all = shelf.ids("things", json!({"filter": {"tags": "all"}, "limit": 1000})).await;
    let there: i64 = shelf.redis.run(&["HLEN", "hero:osis:things:objects"]).await;
    let in_index: i64 = shelf.redis.run(&["ZCARD", "hero:osis:things:index:size"]).await;
    assert_eq!((all.len() as i64, in_index), (there, there));
}

#[tokio::test]
async fn an_index_that_cannot_be_made_is_dropped_and_one_that_was_left_is_made_ready() {
    let shelf = Shelf::open().await;
    let things = name("things");
    shelf.set("things", json!({"id": "a", "tags": (0..300).collect::<Vec<_>>()})).await;
    shelf.set("things", json!({"id": "b", "tags": [1], "size": 2})).await;
    let error = shelf.objects.index(&things, &["size".to_owned(), "tags".to_owned()]).await.unwrap_err().to_string();
    assert!(error.contains("the object a: tags has an index and 300 different elements"), "{error}");
    let indexes = || async { shelf.objects.collections().await.unwrap().remove(0).indexes };
    assert_eq!(indexes().await, []);
    shelf.set("things", json!({"id": "a", "tags": (0..300).collect::<Vec<_>>()})).await;

    // As a process leaves it that ends in between.
    let _: i64 = shelf.redis.run(&["HSET", "hero:osis:things", "index:size", "1-1"]).await;
    assert_eq!(shelf.find("things", json!({"filter": {"size": 2}})).await.compared, ["size"]);
    let left = indexes().await;
    assert_eq!((left.len(), left[0].ready), (1, false));
    let refusal = shelf.refusal("things", json!({"order_by": "size"})).await;
    assert!(refusal.contains("is still being made"), "{refusal}");
    shelf.objects.index(&things, &["size".to_owned()]).await.unwrap();
    assert_eq!(shelf.find("things", json!({"filter": {"size": 2}})).await.compared.len(), 0);
    assert_eq!(shelf.ids("things", json!({"filter": {"size": 2}})).await, ["b"]);
    assert_eq!(shelf.ids("things", json!({"filter": {"size": null}})).await, ["a"]);
    // One that was dropped and is made again has its entries, too.
    assert!(shelf.objects.drop_index(&things, "size").await.unwrap());
    shelf.objects.index(&things, &["size".to_owned()]).await.unwrap();
    assert_eq!(shelf.ids("things", json!({"order_by": "size"})).await, ["a", "b"]);
}

#[tokio::test]
async fn an_index_that_is_dropped_while_it_is_made_is_never_ready_without_all_objects() {
    let shelf = Shelf::open().await;
    let things = name("things");
    let objects = (0..1500).map(|id| json!({"id": format!("{id:04}"), "size": id % 7}));
    // More at once wait for each other, and not for ever.
    stream::iter(objects).for_each_concurrent(16, async |object| drop(shelf.set("things", object).await)).await;
    let other = crate::support::objects(&shelf.redis.store().await);
    let fields = ["size".to_owned()];
    for round in 0..6 {
        let makes = async {
            // One that is dropped meanwhile says so.
            let _ = shelf.objects.index(&things, &fields).await;
        };
        let drops = async {
            for _ in 0..round {
                tokio::task::yield_now().await;
            }
            other.drop_index(&things, "size").await.unwrap();
            other.index(&things, &fields).await.unwrap();
        };
        tokio::join!(makes, drops);
        let page = shelf.find("things", json!({"filter": {"size": 3}, "limit": 1000})).await;
        assert_eq!((page.objects.len(), page.compared.len()), (214, 0), "round {round}");
        other.drop_index(&things, "size").await.unwrap();
    }
}

#[tokio::test]
async fn what_fails_to_make_an_index_drops_nobody_elses() {
    let shelf = Shelf::open().await;
    let things = name("things");
    shelf.set("things", json!({"id": "a", "size": 1, "tags": (0..300).collect::<Vec<_>>()})).await;
    shelf.objects.index(&things, &["size".to_owned()]).await.unwrap();
    let both = ["size".to_owned(), "tags".to_owned()];
    assert!(shelf.objects.index(&things, &both).await.is_err());
    let indexes = shelf.objects.collections().await.unwrap().remove(0).indexes;
    assert_eq!(indexes.iter().map(|index| (index.field.as_str(), index.ready)).collect::<Vec<_>>(), [("size", true)]);
    // The limit of an object counts all its indexes, whenever they were made.
    let lists: serde_json::Map<_, _> = (0..5).map(|at| (format!("f{at}"), json!((0..250).collect::<Vec<_>>()))).collect();
    shelf.set("others", lists.into()).await;
    for at in 0..4 {
        shelf.objects.index(&name("others"), &[format!("f{at}")]).await.unwrap();
    }
    let error = shelf.objects.index(&name("others"), &["f4".to_owned()]).await.unwrap_err().to_string();
    assert!(error.contains("1250 entries in indexes"), "{error}");
    let many: Vec<String> = (0..17).map(|at| format!("g{at}")).collect();
    assert!(shelf.objects.index(&things, &many).await.is_err());
    shelf.objects.index(&things, &vec!["size".to_owned(); 5000]).await.unwrap();
}

#[tokio::test]
async fn a_cursor_is_for_the_query_that_it_came_from() {
    let shelf = Shelf::open().await;
    let things = name("things");
    for at in 0..5 {
        shelf.set("things", json!({"id": format!("{at}"), "size": at})).await;
    }
    let by_id = shelf.find("things", json!({"filter": {"size": {"gte": 0}}, "limit": 2})).await.next_cursor;
    shelf.objects.index(&things, &["size".to_owned()]).await.unwrap();
    // It began without an index and goes on so.
    let rest = shelf.find("things", json!({"filter": {"size": {"gte": 0}}, "limit": 5, "cursor": by_id})).await;
    assert_eq!(rest.objects.iter().map(id_of).collect::<Vec<_>>(), ["2", "3", "4"]);
    let refusal = shelf.refusal("things", json!({"order_by": "size", "cursor": by_id})).await;
    assert!(refusal.contains("another query"), "{refusal}");
    let by_size = shelf.find("things", json!({"order_by": "size", "limit": 2})).await.next_cursor;
    assert!(shelf.objects.drop_index(&things, "size").await.unwrap());
    let refusal = shelf.refusal("things", json!({"filter": {"size": {"gte": 0}}, "cursor": by_size})).await;
    assert!(refusal.contains("begin again"), "{refusal}");
}

#[tokio::test]
async fn long_texts_in_an_index_are_told_apart_behind_what_stands_there() {
    let shelf = Shelf::open().await;
    let long = |end: &str| format!("{}{end}", "x".repeat(600));
    for end in ["a", "b", "c"] {
        shelf.set("notes", json!({"id": end, "text": long(end), "list": [long(end), long("z")]})).await;
    }
    shelf.objects.index(&name("notes"), &["text".to_owned(), "list".to_owned()]).await.unwrap();
    assert_eq!(shelf.ids("notes", json!({"filter": {"text": long("b")}})).await, ["b"]);
    assert_eq!(shelf.ids("notes", json!({"filter": {"text": {"gt": long("b")}}})).await, ["c"]);
    assert_eq!(shelf.ids("notes", json!({"filter": {"text": {"gte": long("b")}}})).await, ["b", "c"]);
    assert_eq!(shelf.ids("notes", json!({"filter": {"text": {"lt": long("b")}}})).await, ["a"]);
    assert_eq!(shelf.ids("notes", json!({"filter": {"text": {"prefix": long("c")}}})).await, ["c"]);
    assert_eq!(shelf.ids("notes", json!({"filter": {"list": long("z")}})).await, ["a", "b", "c"]);
    assert_eq!(shelf.ids("notes", json!({"filter": {"list": {"gt": long("c")}}, "descending": true})).await, ["c", "b", "a"]);
}
