//! `keys.lua` is the twin of `keys.rs`.

use hero::keys::Keys;
use hero::model::{ContextId, JobId, Name, Priority, Queue, ScriptType, ServerId, Target};

use crate::support::Redis;

const LUA: &str = include_str!("../../../src/keys.lua");

#[tokio::test]
async fn the_scripts_build_the_keys_that_the_store_builds() {
    let redis = Redis::start().await;
    let (id, server) = (JobId::random(), ServerId::new());
    let (sal, io): (ScriptType, Name) = ("sal".parse().unwrap(), "io".parse().unwrap());
    let digest = "0123abcd";
    for keys in [Keys::standalone(ContextId(0)), Keys::standalone(ContextId(3)), Keys::clustered(ContextId(7))] {
        let mut expected = vec![
            ("job_prefix .. ARGV[3]".to_owned(), keys.job(&id)),
            ("reply_prefix .. ARGV[3]".to_owned(), keys.reply(&id)),
            ("legacy_reply_key(ARGV[3])".to_owned(), keys.legacy_reply(&id)),
            ("log_key(ARGV[3])".to_owned(), keys.log(&id)),
            ("stats_key('sal')".to_owned(), keys.stats(&sal)),
            ("control_key('sal')".to_owned(), keys.control(&sal)),
            ("control_instance_key('sal:io:3')".to_owned(), keys.control_instance(&sal, &io, 3)),
            (format!("idempotency_key('{digest}')"), keys.idempotency(digest)),
            ("bell('sal')".to_owned(), keys.bell(&sal)),
            ("inbox(ARGV[4])".to_owned(), format!("{}{server}", Keys::inbox_prefix())),
            ("scheduled_key".to_owned(), keys.scheduled()),
            ("leases_key".to_owned(), keys.leases()),
            ("reaped_key".to_owned(), keys.reaped()),
            ("unwritten_key".to_owned(), keys.unwritten()),
            ("queues_key".to_owned(), keys.queues()),
            ("hours_key".to_owned(), keys.hours()),
            ("types_key".to_owned(), keys.types()),
            ("status_key('error')".to_owned(), keys.index_of_status("error")),
            ("strays_key".to_owned(), keys.strays()),
            ("paused_key".to_owned(), keys.paused()),
            ("fair_key".to_owned(), keys.fair()),
            ("capped_key".to_owned(), keys.capped()),
            ("watched_key".to_owned(), keys.watched()),
            ("release_key".to_owned(), keys.release()),
            ("conveyor_key".to_owned(), keys.conveyor_ends()),
            ("rel_key(ARGV[3], 'dependents')".to_owned(), keys.dependents(&id)),
            ("rel_key(ARGV[3], 'children')".to_owned(), keys.children(&id)),
            ("rel_key(ARGV[3], 'active')".to_owned(), keys.active(&id)),
            ("rel_key(ARGV[3], 'onComplete')".to_owned(), keys.heirs(&id)),
            ("calm_key".to_owned(), keys.calm()),
            ("foreign_key".to_owned(), keys.foreign()),
            ("index_key('2026-11-21T03:54:01.5Z')".to_owned(), keys.index("2026-11-21T03:54:01.5Z".parse().unwrap())),
            ("schedules_key".to_owned(), keys.schedules()),
            ("schedule_key(ARGV[3])".to_owned(), keys.schedule(&id.as_str().parse().unwrap())),
            ("schedule_waiting_key(ARGV[3])".to_owned(), keys.schedule_waiting(&id.as_str().parse().unwrap())),
            ("events_key".to_owned(), keys.events()),
        ];
        let targets = [
            (Target::Type, "nil, nil"),
            (Target::Type, "'', ''"),
            (Target::Type, "false, false"),
            (Target::Group(io.clone()), "'io', ''"),
            (Target::Group(io.clone()), "'io', false"),
            (Target::Instance(io.clone(), 3), "'io', '3'"),
            (Target::Instance("default".parse().unwrap(), 3), "false, '3'"),
            (Target::Instance("default".parse().unwrap(), 3), "'', '3'"),
        ];
        for (target, words) in targets {
            for (priority, word) in
                [(Priority::Urgent, "'0'"), (Priority::Normal, "'1'"), (Priority::Normal, "false"), (Priority::Low, "'2'")]
            {
                let queue = Queue { script_type: sal.clone(), target: target.clone(), priority };
                expected.push((format!("work_key('sal', {words}, {word})"), keys.work(&queue)));
                expected.push((format!("fair_part(work_key('sal', {words}, {word}), 'ring')"), keys.fair_part(&keys.work(&queue), "ring")));
            }
        }
        for (expression, key) in &expected {
            let script = format!("{LUA}\nreturn {expression}");
            let context = keys.context().to_string();
            let built: String = redis.run(&["EVAL", &script, "0", keys.prefix(), &context, id.as_str(), server.as_str()]).await;
            assert_eq!(built, *key, "{expression}");
        }
    }
    // An actor's name that is none has no key.
    let script = format!("{LUA}\nreturn control_instance_key('sal') == nil");
    let none: bool = redis.run(&["EVAL", &script, "0", "", "0"]).await;
    assert!(none);
}

#[test]
fn every_key_of_the_scripts_is_compared() {
    let test = include_str!("keys.rs");
    for line in LUA.lines().filter_map(|line| line.strip_prefix("local ")) {
        let name = line.trim_start_matches("function ").split(['(', ' ', ',']).next().unwrap();
        // The legacy queues have no twins in Rust: only scripts write them.
        if !matches!(name, "prefix" | "legacy_stop_key" | "legacy_work_key") {
            let called = [format!("{name}("), format!("\"{name}\""), format!("{name} ..")];
            assert!(called.iter().any(|call| test.contains(call)), "{name} is not compared");
        }
    }
}
