//! Scripts in HeroScript.

use hero::model::{ErrorKind, LogLevel};
use serde_json::{Value, json};

use super::Bench;

async fn results(bench: &mut Bench, script: &str) -> Value {
    serde_json::from_str(&bench.text(script).await).unwrap()
}

#[tokio::test]
async fn actions_call_functions_in_order_and_give_the_list_of_their_results() {
    let mut bench = Bench::start().await;
    let script = "#!/usr/bin/env hero\n// the sum of an order\n!!log.info 'it begins'\n!!sum array:1,2,3.5\n!!Format.Number decimals:2\n    number: 1234.5\n\
        !!pad.start 7 3 fill:'0'\n!!template\n    text: 'Dear {{name}},\n           hello'\n    name: Ada\n";
    assert_eq!(results(&mut bench, script).await, json!([null, 6.5, "1,234.50", "007", "Dear Ada,\nhello"]));
    assert_eq!((bench.log.0[0].level, bench.log.texts()), (LogLevel::Info, vec!["it begins"]));
    // Nothing runs of a script of which a part is wrong.
    let error = bench.error(&format!("{script}!!pad.start 7")).await;
    assert_eq!((error.kind, error.line, error.column), (ErrorKind::Script, Some(12), Some(1)), "{}", error.message);
    assert_eq!(bench.log.0.len(), 1);
}

#[tokio::test]
async fn values_are_read_as_their_parameters_want_them() {
    let mut bench = Bench::start().await;
    for (script, expected) in [
        ("!!to.json 5\n!!to.json '5'\n!!to.json yes\n!!to.json a,2", json!(["5", "\"5\"", "true", "[\"a\",2]"])),
        ("!!dedent text:42", json!(["42"])),
        ("!!to.fixed number:75% decimals:1", json!(["0.8"])),
        ("!!join array:a separator:','", json!(["a"])),
        ("!!join array:[a, 'b c'] separator:-", json!(["a-b c"])),
        ("!!parse.time text:2026-01-31", json!([1_769_817_600_000_i64])),
    ] {
        assert_eq!(results(&mut bench, script).await, expected, "{script}");
    }
}

#[tokio::test]
async fn errors_of_actions_say_where_and_what_to_do() {
    let mut bench = Bench::start().await;
    for (script, line, column, message) in [
        ("!!sum array:1\n!!sum lst:1", 2, 1, "sum(array: array) -> number has no parameter lst"),
        ("!!sum", 1, 1, "array is missing: sum(array: array) -> number"),
        ("!!sum 1 2", 1, 1, "there are more values than sum(array: array) -> number takes"),
        ("!!sum array:1 array:2", 1, 1, "array is given twice"),
        ("!!to.fixed 1 decimals:many", 1, 1, "decimals is many, where an integer belongs"),
        ("!!template text:a values:x", 1, 1, "values is x, where a map, whose values are given by name, belongs"),
        ("!!parse.tim text:x", 1, 1, "there is no function parse_tim: did you mean parse_time?"),
        ("!!slep 1", 1, 1, "there is no function slep: did you mean sleep?"),
        ("!!frobnicate.it", 1, 1, "there is no function frobnicate_it"),
        ("// c\n\n!!parse.time text:today", 3, 1, "\"today\" is no time"),
        ("!!dedent text:'open", 1, 15, "this quote (') is not closed"),
    ] {
        let error = bench.error(script).await;
        assert_eq!((error.kind, error.line, error.column), (ErrorKind::Script, Some(line), Some(column)), "{script}: {}", error.message);
        assert!(error.message.contains(message), "{script}: {}", error.message);
    }
}

#[tokio::test]
async fn what_begins_with_two_exclamation_marks_may_still_be_rhai() {
    let mut bench = Bench::start().await;
    assert_eq!(bench.text("!!true && 1 == 1").await, "true");
    assert_eq!(bench.text("!!(1 > 2)").await, "false");
}

#[tokio::test]
async fn an_action_obeys_the_limits_of_scripts() {
    let mut bench = Bench::start().await;
    let mut job = super::job("!!sleep seconds:60");
    job.timeout = std::time::Duration::from_millis(50);
    assert_eq!(bench.run_job(&job).await.result.unwrap_err().kind, ErrorKind::Timeout);
    assert_eq!(bench.error("!!pad.start x 300000").await.kind, ErrorKind::Limit);
}
