//! The reference of functions is correct.

use std::sync::Arc;

use hero::actor::PoolSettings;
use hero::engine::reference::{TYPES, functions};
use hero::engine::{Capability, EngineSettings};
use hero::model::JobSpec;
use hero::process::Spawner;
use hero::sal::{Files, Hosts, Net, Processes, Resources};
use hero::store::GrantedRedis;
use serde_json::{Value, json};

use super::Bench;
use crate::support::{CONTEXT, House, PATIENCE, Redis, Web, hero, pool_settings, spec};

#[tokio::test(flavor = "multi_thread")]
async fn every_example_of_a_function_uses_it_and_gives_what_the_reference_says() {
    let (mut house, web, redis) = (House::empty().await, Web::start().await, Redis::start().await);
    let settings = pool_settings(house.redis.directory(), 1);
    let granted = GrantedRedis::new(&redis.endpoint(), vec![house.store.clone()]).unwrap();
    let resources = Resources {
        files: Some(Files::new(house.redis.directory(), CONTEXT, 64 << 20)),
        processes: Some(Processes::new(hero(), Spawner::start().unwrap(), 512 << 20)),
        net: Some(Net::new(Hosts::new([web.address.to_string().as_str()]).unwrap()).unwrap()),
        redis: Some(Arc::new(granted)),
    };
    let engine = EngineSettings { capabilities: Capability::ALL.to_vec(), ..settings.engine };
    house.hire(PoolSettings { resources, engine, ..settings }).await;
    let args = json!({ "host": web.address.ip(), "port": web.address.port(), "url": web.url("") });
    for function in functions() {
        let example = &function.example;
        assert!(example.contains(&format!("{}(", function.name)), "{example} does not use {}", function.name);
        let spec = JobSpec { args: Some(args.clone().into()), ..spec(example) };
        let result = house.dispatcher.jobs().run_and_wait(spec, PATIENCE).await.unwrap_or_else(|error| panic!("{example}: {error}"));
        let given = match result.value {
            Some(value) => Some(value.to_value().unwrap()).filter(|value| !value.is_null()),
            None => Some(Value::from(result.output)).filter(|text| *text != ""),
        };
        match &function.example_result {
            Some(result) => assert_eq!(given, Some(result.to_value().unwrap()), "{example}"),
            None => assert_eq!(given.is_none(), function.returns == "nothing", "{example}"),
        }
    }
    house.close().await;
}

#[test]
fn every_function_is_described_once_and_in_known_types() {
    let functions = functions();
    for (at, function) in functions.iter().enumerate() {
        assert!(functions[..at].iter().all(|before| before.name != function.name), "{} stands there twice", function.name);
        assert!(function.description.ends_with('.'), "{}", function.signature());
        let kinds = function.parameters.iter().map(|parameter| parameter.kind.as_str()).chain([function.returns.as_str()]);
        for kind in kinds.flat_map(|kinds| kinds.split('|')) {
            assert!(TYPES.iter().any(|(known, _)| *known == kind), "{}: what is {kind}?", function.signature());
        }
        let mut optional = function.parameters.iter().skip_while(|parameter| !parameter.optional);
        assert!(optional.all(|parameter| parameter.optional), "{}: what may be left out comes last", function.signature());
    }
}

#[tokio::test]
async fn optional_arguments_of_functions_may_be_omitted() {
    let mut bench = Bench::start().await;
    for (script, text) in [
        (r#""a".pad_start(3) + "b".pad_end(3) + "|""#, "  ab  |"),
        ("1234567.format_number(0) + ` ` + (-1234.5).format_number(1, ``)", "1,234,567 -1234.5"),
        (r#"parse_time("2026-01-31") - parse_time("2026-01-30T23:00:00Z")"#, "3600000"),
        (r#"format_time(0) + format_time(0, " %Y")"#, "1970-01-01T00:00:00.000Z 1970"),
    ] {
        assert_eq!(bench.text(script).await, text, "{script}");
    }
}

/// Editors read a definition file as they read scripts, so no parameter may be called like a word of Rhai.
#[tokio::test]
async fn scripts_may_call_variables_like_the_parameters() {
    let mut bench = Bench::start().await;
    for function in functions() {
        let names: Vec<&str> = function.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let script = format!("fn f({}) {{ }} 1", names.join(", "));
        assert_eq!(bench.text(&script).await, "1", "{script}");
    }
}
