use hero::model::{ErrorKind, JobSpec, Status};
use serde_json::{Value, json};

use crate::support::{CONTEXT, House, spec, until};

async fn value(house: &House, script: &str) -> Value {
    let result = house.run(script).await.unwrap_or_else(|error| panic!("{script}: {error}"));
    result.value.map_or_else(|| Value::from(result.output), |value| value.to_value().unwrap())
}

async fn error(house: &House, script: &str) -> (ErrorKind, String) {
    match house.run(script).await {
        Err(hero::dispatch::Error::Failed { error, .. }) => (error.kind, error.message.clone()),
        other => panic!("{script}: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_script_stores_another_and_a_client_find() {
    let house = House::open(2).await;
    let script = r#"
        osis::index("people", ["born", "address.city"]);
        let ada = osis::new("people");
        ada.name = "Ada";
        ada.born = 1815;
        ada.address = #{ city: "London" };
        let id = osis::set("people", ada);
        osis::set("people", #{ id: "alan", name: "Alan", born: 1912, address: #{ city: "London" } });
        osis::set("people", #{ id: "grace", name: "Grace", born: 1906, address: #{ city: "New York" } });
        id == ada.id
    "#;
    assert_eq!(value(&house, script).await, json!(true));
    let find = r#"
        let page = osis::find("people", #{ filter: #{ "address.city": "London", born: #{ gte: 1900 } }, order_by: "born" });
        [page.objects.map(|person| person.name), page.compared, page.next_cursor]
    "#;
    assert_eq!(value(&house, find).await, json!([["Alan"], ["address.city"], null]));
    let alan = house
        .dispatcher
        .contexts()
        .objects(CONTEXT)
        .await
        .unwrap()
        .get(&"people".parse().unwrap(), &"alan".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(alan.unwrap().to_value().unwrap()["born"], json!(1912));
    assert_eq!(
        value(&house, r#"[osis::delete("people", "alan"), osis::exists("people", "alan"), osis::get("people", "alan")]"#).await,
        json!([true, false, null])
    );
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heroscript_stores_and_finds_objects_too() {
    let house = House::open(1).await;
    let script = "!!osis.set collection:people id:ada name:'Ada Lovelace' born:1815\n!!osis.get collection:people id:ada\n!!osis.exists people nobody";
    assert_eq!(value(&house, script).await, json!(["ada", {"id": "ada", "name": "Ada Lovelace", "born": 1815}, false]));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heroscript_says_which_objects_it_wants() {
    let house = House::open(1).await;
    let people = "!!osis.set people id:ada born:1815 city:London\n!!osis.set people id:alan born:1912 city:London\n\
        !!osis.set people id:grace born:1906 city:'New York'";
    value(&house, people).await;
    for (action, expected) in [
        ("!!osis.find people filter:born>=1900", json!(["alan", "grace"])),
        ("!!osis.find people filter:born>=1900,city=London", json!(["alan"])),
        ("!!osis.find people\n    filter: 'city^=New'\n    limit: 1", json!(["grace"])),
        ("!!osis.find people filter:[born>1815, 'born<1912']", json!(["grace"])),
        ("!!osis.find people", json!(["ada", "alan", "grace"])),
    ] {
        let found = value(&house, action).await;
        let ids: Vec<_> =
            found[0]["objects"].as_array().unwrap_or_else(|| panic!("{action}: {found}")).iter().map(|one| &one["id"]).collect();
        assert_eq!(json!(ids), expected, "{action}");
    }
    let ids = r#"osis::find("people", #{ filter: ["born>=1900", "city=London"] }).objects.map(|one| one.id)"#;
    assert_eq!(value(&house, ids).await, json!(["alan"]));
    for (action, told) in [
        ("!!osis.find people filter:born", "filter: \"born\": a field, one of = > >= < <= ^=, and a value are expected"),
        ("!!osis.find people filter:born=1,born=2", "filter: says two things of born"),
        ("!!osis.find people filter:5", "integer `5`, expected a map"),
        ("!!osis.find people filter:a=1,5", "an array of texts such as \"born>=1800\" is expected"),
    ] {
        let (kind, message) = error(&house, action).await;
        assert!(kind == ErrorKind::Script && message.contains(told), "{action}: {message}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_is_told_what_is_wrong_and_may_catch_it() {
    let house = House::open(1).await;
    for (script, told) in [
        (r#"osis::get("a/b", "x")"#, "\"a/b\" is not a name"),
        (r#"osis::get("people", "")"#, "1 to 256 bytes"),
        (r#"osis::set("people", #{ id: 7 })"#, "the object has an id that is no text"),
        (r#"osis::set("people", #{ f: || 1 })"#, "holds a closure, which JSON can't say"),
        (r#"osis::set("people", #{ n: 1.0 / 0.0 })"#, "the number inf"),
        (r#"osis::find("people", #{ order_by: "born" })"#, "osis::index makes it"),
        (r#"osis::find("people", #{ wher: 1 })"#, "unknown field `wher`"),
        (r#"osis::find("people", #{ filter: #{ a: #{ gte: () } } })"#, "gte is null"),
        (r#"osis::set("people", #{ n: parse_decimal("1180591620717411303424") })"#, "it.n is 1180591620717411303424"),
        (r#"osis::list("people", #{ filter: #{ a: 1 } })"#, "limit and cursor only"),
        (r#"osis::list("people", #{ limit: 0 })"#, "from 1 to 1000"),
        (r#"osis::index("people", [])"#, "there is none"),
        (r#"osis::index("people", [1])"#, "expected a string"),
        (r#"osis::nothing("people")"#, "Function not found: osis::nothing"),
        (r#"osis::index("people", "born")"#, "there is osis::index(collection: string, fields: array) -> nothing"),
        (r#"osis::sett("people", #{})"#, "there is osis::set("),
        (r#"sal::run("ls")"#, "this script has no sal::"),
    ] {
        let (kind, message) = error(&house, script).await;
        assert!(kind == ErrorKind::Script && message.contains(told), "{script}: {message}");
        let caught = value(&house, &format!("try {{ {script} }} catch (e) {{ return `caught ${{e}}` }}")).await;
        assert!(caught.as_str().unwrap().starts_with("caught "), "{script}: {caught}");
    }
    let big = r#"let text = ""; text.pad(250000, 'x'); osis::set("notes", #{ a: [text, text, text, text, text] })"#;
    let (kind, message) = error(&house, big).await;
    assert!(kind == ErrorKind::Script && message.contains("object has 1250"), "{message}");
    // What goes to the actor is no text of the script.
    let rows = "let rows = []; for i in 0..20000 { rows.push(#{ id: i, tags: [`a`, `b`] }) }";
    let caught =
        value(&house, &format!("{rows} try {{ osis::set(`notes`, #{{ rows: rows }}) }} catch (e) {{ return `caught ${{e}}` }} 1 + 1"))
            .await;
    assert!(caught.as_str().unwrap().starts_with("caught "), "{caught}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_no_larger_than_values_of_scripts_may_be() {
    let house = House::open(1).await;
    let objects = house.dispatcher.contexts().objects(CONTEXT).await.unwrap();
    let collection = "notes".parse().unwrap();
    for at in 0..20 {
        let note = json!({"id": format!("{at:02}"), "text": "x".repeat(30_000)});
        objects.set(&collection, &note.into()).await.unwrap();
    }
    for (large, told) in [(json!({"text": "x".repeat(300_000)}), "object has 300"), (json!({"list": vec![1; 9000]}), "9003 values")] {
        let refused = objects.set(&collection, &large.into()).await.unwrap_err().to_string();
        assert!(refused.contains(told), "{refused}");
    }
    let script = r#"
        let query = #{ limit: 1000 };
        let pages = [];
        loop {
            let page = osis::list("notes", query);
            pages.push(page.objects.len());
            if pages.len() == 3 || page.next_cursor == () { break; }
            query.cursor = page.next_cursor;
        }
        pages
    "#;
    assert_eq!(value(&house, script).await, json!([8, 8, 4]));
    let deep = (0..63).fold(json!(1), |deep, _| json!([deep]));
    objects.set(&collection, &json!({"id": "40", "deep": deep}).into()).await.unwrap();
    let refused = objects.set(&collection, &json!({"id": "41", "deep": [deep]}).into()).await.unwrap_err().to_string();
    assert!(refused.contains("nested deeper than 64"), "{refused}");
    assert_eq!(value(&house, r#"osis::find("notes", #{ filter: #{ id: "40" } }).objects.len()"#).await, json!(1));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_that_the_language_reserves_are_reserved_elsewhere() {
    let house = House::open(1).await;
    assert_eq!(value(&house, "osis :: new(\"a\").id.len()").await, json!(20));
    for script in ["let new = 1; new", "new(1)", "with", "spawn(1)"] {
        let (_, message) = error(&house, script).await;
        assert!(message.contains("reserved"), "{script}: {message}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_a_script_that_asks_for_objects() {
    let house = House::open(1).await;
    for script in [r#"loop { osis::get("a", "b"); }"#, r#"loop { try { osis::set("a", #{ id: "b" }) } catch { } }"#] {
        let id = house.start(JobSpec { timeout: None, ..spec(script) }).await;
        house.is(&id, Status::Started).await;
        house.dispatcher.jobs().stop(CONTEXT, &id).await.unwrap();
        house.is(&id, Status::Error).await;
        // The engine goes on.
        assert_eq!(value(&house, "40 + 2").await, json!(42));
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_may_catch_that_redis_takes_no_more() {
    let house = House::open(1).await;
    let script = r#"
        osis::set("a", #{ id: "before" });
        print("stored");
        loop { try { osis::set("a", #{ id: "b" }); sleep(0.01); } catch (error) { return error; } }
    "#;
    let id = house.start(spec(script)).await;
    let objects = house.dispatcher.contexts().objects(CONTEXT).await.unwrap();
    let (collection, before) = ("a".parse().unwrap(), "before".parse().unwrap());
    until("it has stored", || async { objects.exists(&collection, &before).await.ok().filter(|stored| *stored) }).await;
    let _: String = house.redis.run(&["CONFIG", "SET", "maxmemory", "1"]).await;
    house.is(&id, Status::Finished).await;
    let _: String = house.redis.run(&["CONFIG", "SET", "maxmemory", "0"]).await;
    let told = house.dispatcher.jobs().result(CONTEXT, &id).await.unwrap().output;
    assert!(told.contains("memory of Redis"), "{told}");
    house.close().await;
}
