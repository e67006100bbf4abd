//! The scripts in `examples/` compile, start with a description, and do what it says.

use rhai::{Dynamic, Engine, Scope};
use serde_json::{Value, json};

fn source(name: &str) -> String {
    std::fs::read_to_string(format!("{}/examples/{name}.rhai", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn run(name: &str, args: &Value) -> Result<Value, String> {
    let mut scope = Scope::new();
    scope.push_dynamic("args", rhai::serde::to_dynamic(args).unwrap());
    let value: Dynamic = Engine::new().eval_with_scope(&mut scope, &source(name)).map_err(|error| error.to_string())?;
    Ok(rhai::serde::from_dynamic(&value).unwrap())
}

#[test]
fn every_example_compiles_and_begins_with_what_it_shows() {
    let directory = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).unwrap();
    let paths: Vec<_> =
        directory.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|ext| ext == "rhai")).collect();
    assert!(paths.len() >= 9);
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("// ") && text.lines().next().unwrap().ends_with('.'), "{}", path.display());
        hero::engine::check(&text, hero::engine::Names::Checked).unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
    }
}

#[test]
fn the_examples_give_what_the_demo_promises() {
    assert_eq!(run("hello", &json!({})).unwrap(), json!(42));
    let args = json!({ "name": "Ada", "numbers": [12, 30] });
    assert_eq!(run("args", &args).unwrap(), json!({ "greeting": "Hello, Ada!", "count": 2, "total": 42 }));
    assert_eq!(run("progress", &json!({})).unwrap(), json!(130));
    assert_eq!(run("primes", &json!({ "below": 5000 })).unwrap(), json!({ "count": 669, "largest": 4999 }));
    let orders = json!([{ "customer": "Ada", "amount": 20 }, { "customer": "Grace", "amount": 7 }, { "customer": "Ada", "amount": 22 }]);
    assert_eq!(run("report", &json!({ "orders": orders })).unwrap(), json!("Ada       42\nGrace     7\n"));
    assert!(run("failing", &json!({})).unwrap_err().contains("no price for plum"));
}
