//! `hero object …`: the command line shows and changes objects that scripts stored.

use serde_json::{Value, json};

use super::{Hero, Server, read};

#[test]
fn objects_are_stored_found_and_deleted_from_the_command_line() {
    let server = Server::start();
    server.ok(&["run", "-e", r#"osis::index("people", ["born"])"#]);
    let people = json!([
        {"id": "ada", "name": "Ada", "born": 1815, "city": "London"},
        {"id": "alan", "name": "Alan", "born": 1912, "city": "London"},
        {"id": "grace", "name": "Grace", "born": 1906, "city": "New York"},
    ]);
    std::fs::write(server.hero.home().join("people.json"), people.to_string()).unwrap();
    assert_eq!(server.ok(&["object", "set", "people", "people.json"]), "ada\nalan\ngrace");
    assert!(server.ok(&["object", "get", "people", "ada"]).contains("\"born\": 1815"));
    assert_eq!(server.json(&["object", "get", "people", "ada"])["name"], "Ada");

    let found = server.ok(&["object", "find", "people", "--where", "born>=1900", "-w", "city=London"]);
    assert_eq!(serde_json::from_str::<Value>(&found).unwrap()["id"], "alan");
    let page = server.json(&["object", "find", "people", "--order-by", "born", "--descending", "--limit", "2"]);
    let ids: Vec<&str> = page["objects"].as_array().unwrap().iter().map(|object| object["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["alan", "grace"]);
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = server.json(&["object", "find", "people", "--order-by", "born", "--descending", "--cursor", cursor]);
    assert_eq!((rest["objects"][0]["id"].as_str(), rest["objects"].as_array().unwrap().len()), (Some("ada"), 1));
    let looked = server.run(&["object", "find", "people", "-w", "city^=New"]);
    assert!(looked.err.contains("no index was used for city, so 3 objects were looked at"), "{}", looked.err);
    let none = server.run(&["object", "find", "poeple"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert_eq!(none.err, "there is no collection poeple; `hero object collections` lists them\n");

    // The integer -0 is 0.
    assert_eq!(server.feed(&["object", "set", "people", "-"], r#"{"id": "zero", "born": -0}"#).out, "zero\n");
    assert!(server.ok(&["object", "get", "people", "zero"]).contains("\"born\": 0"));
    server.ok(&["object", "delete", "people", "zero"]);
    let table = server.ok(&["object", "collections"]);
    assert!(table.contains("people") && table.contains("born"), "{table}");
    assert_eq!(server.ok(&["object", "delete", "people", "ada"]), "deleted");
    assert_eq!(server.ok(&["object", "delete", "people", "ada"]), "there was no such object");
    let gone = server.run(&["object", "get", "people", "ada"]);
    assert!(gone.code == 1 && gone.err.contains("there is no object ada in people"), "{}", gone.err);
    assert_eq!(server.ok(&["object", "drop", "people"]), "dropped, with 2 objects");
    assert_eq!(server.json(&["object", "collections"]), json!([]));
}

#[test]
fn what_is_wrong_with_an_object_or_a_query_is_told() {
    let hero = Hero::new();
    let schema = json!({"properties": {"born": {"type": "integer"}}});
    std::fs::write(hero.home().join("people.schema.json"), schema.to_string()).unwrap();
    let server = Server::with(hero, &["--pool", "osis=1", "--object-schemas", "people=people.schema.json"]);
    let write = |text: &str| std::fs::write(server.hero.home().join("object.json"), text).unwrap();
    for (object, told) in [
        (r#"{"born": "long ago"}"#, "/born"),
        ("[{}, 7]", "the object at index 1 was refused; 1 before it are stored"),
        ("{", "object.json is not JSON"),
    ] {
        write(object);
        let refused = server.run(&["object", "set", "people", "object.json"]);
        assert!(refused.code != 0 && refused.err.contains(told), "{object}: {}", refused.err);
    }
    for (object, told) in [("{", "stdin is not JSON"), ("{\"n\": 9223372036854775808}", "stdin: "), ("{\"born\": \"x\"}", "/born")] {
        let refused = server.feed(&["object", "set", "people", "-"], object);
        assert!(refused.code != 0 && refused.err.contains(told), "{object}: {}", refused.err);
    }
    assert_eq!(server.json(&["object", "collections"])[0]["typed"], true);
    for (arguments, told) in [
        (&["object", "find", "people", "--where", "born"][..], "a field, one of"),
        (&["object", "find", "people", "-w", "a=1", "-w", "a=2"], "two things of a"),
        (&["object", "find", "people", "--order-by", "born"], "osis::index makes it"),
        (&["object", "get", "a/b", "c"], "is not a name"),
        (&["object", "find", "people", "--cursor", "x"], "is not a cursor"),
    ] {
        let refused = server.run(arguments);
        assert!(refused.code != 0 && refused.err.contains(told), "{arguments:?}: {}", refused.err);
    }
    assert!(!read(&server.hero, "serve.log").contains("panic"));
}

#[test]
fn what_is_found_is_json_whatever_is_in_it() {
    let server = Server::start();
    let object = json!({"id": "a", "text": "\u{202e}\u{7f}\u{9b}\u{1b}[31m\u{2028}\té"});
    assert_eq!(server.feed(&["object", "set", "things", "-"], &object.to_string()).out, "a\n");
    let found = server.ok(&["object", "find", "things"]);
    assert!(found.contains("\\u202e") && !found.contains('\u{202e}'), "{found}");
    assert_eq!(serde_json::from_str::<Value>(&found).unwrap(), object);
}

#[test]
fn a_schema_that_is_none_is_refused_at_the_start_with_its_file() {
    let hero = Hero::new();
    std::fs::write(hero.home().join("broken.json"), "{").unwrap();
    std::fs::write(hero.home().join("wrong.json"), r#"{"type": "text"}"#).unwrap();
    for (schemas, told) in [
        ("people", "people=people.json"),
        ("a/b=wrong.json", "is not a name"),
        ("people=nowhere.json", "nowhere.json"),
        ("people=broken.json", "the file is not JSON"),
        ("people=wrong.json", "no JSON Schema: /type"),
        ("people=wrong.json,people=wrong.json", "no JSON Schema"),
    ] {
        let refused = hero.run(&["serve", "--listen", "127.0.0.1:0", "--data", "data", "--object-schemas", schemas]);
        assert!(refused.code != 0 && refused.err.contains(told), "{schemas}: {}", refused.err);
    }
}
