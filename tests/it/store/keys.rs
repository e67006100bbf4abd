//! `keys.lua` has the same keys as `keys.rs`.

use hero::keys::Keys;
use hero::model::{ContextId, FlowId, IdentityId, JobId, MessageStatus, Name, Priority, Queue, RunnerId, ScriptType, ServerId, Target};
use hero::store::script_behind_the_modules;

use crate::support::Redis;

const LUA: &str = include_str!("../../../crates/store/src/lua/keys.lua");

#[tokio::test]
async fn the_functions_build_the_keys_that_the_store_builds() {
    let redis = Redis::start().await;
    let (id, server) = (JobId::random(), ServerId::new());
    let (sal, io): (ScriptType, Name) = ("sal".parse().unwrap(), "io".parse().unwrap());
    let digest = "0123abcd";
    for keys in [Keys::standalone(ContextId(0)), Keys::standalone(ContextId(3)), Keys::clustered(ContextId(7))] {
        let mut expected = vec![
            ("keys.job(ARGV[4])".to_owned(), keys.job(&id)),
            ("keys.reply(ARGV[4])".to_owned(), keys.reply(&id)),
            ("keys.legacy_reply(ARGV[4])".to_owned(), keys.legacy_reply(&id)),
            ("keys.work_queue('io')".to_owned(), keys.work_queue(io.as_str())),
            ("keys.stop_queue('io')".to_owned(), keys.stop_queue(&io)),
            (format!("keys.worker_of('{}')", keys.work_queue("io")), "io".to_owned()),
            (format!("keys.worker_of('{}')", keys.actor_queue("io")), "io".to_owned()),
            (format!("keys.worker_of('{}')", keys.actor_list(&io)), "io".to_owned()),
            ("keys.log(ARGV[4])".to_owned(), keys.log(&id)),
            ("keys.stats('sal')".to_owned(), keys.stats(&sal)),
            ("keys.control('sal')".to_owned(), keys.control(&sal)),
            ("keys.control_instance('sal:io:3')".to_owned(), keys.control_instance(&sal, &io, 3)),
            (format!("keys.idempotency('{digest}')"), keys.idempotency(digest)),
            ("keys.staged(ARGV[4], 7)".to_owned(), keys.staged(&id, 7)),
            (format!("keys.staged_at('{id}:7')"), keys.staged(&id, 7)),
            ("keys.held(ARGV[4])".to_owned(), keys.held(&id)),
            ("keys.staging".to_owned(), keys.staging()),
            ("keys.holding".to_owned(), keys.holding()),
            ("keys.group(ARGV[4])".to_owned(), keys.group(&id)),
            ("keys.lines(ARGV[4])".to_owned(), keys.lines(&id)),
            ("keys.wake_up('sal')".to_owned(), keys.wake_up(&sal)),
            ("keys.alarm()".to_owned(), keys.alarm()),
            ("keys.inbox(ARGV[5])".to_owned(), format!("{}{server}", Keys::inbox_prefix())),
            ("keys.scheduled".to_owned(), keys.scheduled()),
            ("keys.leases".to_owned(), keys.leases()),
            ("keys.reaped".to_owned(), keys.reaped()),
            ("keys.unwritten".to_owned(), keys.unwritten()),
            ("keys.queues".to_owned(), keys.queues()),
            ("keys.hours".to_owned(), keys.hours()),
            ("keys.types".to_owned(), keys.types()),
            ("keys.index_of_status('error')".to_owned(), keys.index_of_status("error")),
            ("keys.time_offsets".to_owned(), keys.time_offsets()),
            ("keys.paused".to_owned(), keys.paused()),
            ("keys.fair".to_owned(), keys.fair()),
            ("keys.with_left".to_owned(), keys.with_left()),
            ("keys.capped".to_owned(), keys.capped()),
            ("keys.watched".to_owned(), keys.watched()),
            ("keys.release".to_owned(), keys.release()),
            ("keys.linking".to_owned(), keys.linking()),
            ("keys.conveyor_ends".to_owned(), keys.conveyor_ends()),
            ("keys.relatives(ARGV[4], 'dependents')".to_owned(), keys.dependents(&id)),
            ("keys.relatives(ARGV[4], 'children')".to_owned(), keys.children(&id)),
            ("keys.relatives(ARGV[4], 'active')".to_owned(), keys.active(&id)),
            ("keys.relatives(ARGV[4], 'onComplete')".to_owned(), keys.continuations(&id)),
            ("keys.native_only".to_owned(), keys.native_only()),
            ("keys.foreign".to_owned(), keys.foreign()),
            ("keys.index('2026-11-21T03:54:01.5Z')".to_owned(), keys.index("2026-11-21T03:54:01.5Z".parse().unwrap())),
            ("keys.schedules".to_owned(), keys.schedules()),
            ("keys.schedule(ARGV[4])".to_owned(), keys.schedule(&id.as_str().parse().unwrap())),
            ("keys.schedule_waiting(ARGV[4])".to_owned(), keys.schedule_waiting(&id.as_str().parse().unwrap())),
            ("keys.events".to_owned(), keys.events()),
            ("keys.collections".to_owned(), keys.collections()),
            ("keys.access".to_owned(), keys.access()),
            ("keys.identities".to_owned(), keys.identities()),
            ("keys.public_keys".to_owned(), keys.public_keys()),
            ("keys.taken_numbers".to_owned(), keys.taken_numbers()),
            ("keys.tokens".to_owned(), keys.tokens()),
            ("keys.rights".to_owned(), keys.rights()),
            ("keys.flows".to_owned(), keys.flows()),
            ("keys.flows_to_do".to_owned(), keys.flows_to_do()),
            ("keys.flow(7)".to_owned(), keys.flow(FlowId(7))),
            ("keys.runner_job(3, 7)".to_owned(), keys.runner_job(3, 7)),
            ("keys.msg_in".to_owned(), keys.msg_in()),
            ("keys.msg_out".to_owned(), keys.msg_out()),
            ("keys.open_messages".to_owned(), keys.open_messages()),
            ("keys.answers".to_owned(), keys.answers()),
            ("keys.results".to_owned(), keys.results()),
            ("keys.resting".to_owned(), keys.resting()),
            ("keys.unsent".to_owned(), keys.unsent()),
            ("keys.stops".to_owned(), keys.stops()),
            ("keys.stops_of('runner7')".to_owned(), keys.stops_of("runner7")),
            ("keys.came('ab:cd')".to_owned(), keys.came("ab:cd")),
            ("keys.envelopes_in".to_owned(), keys.envelopes("in")),
            ("keys.nonces".to_owned(), keys.nonces()),
            ("keys.known".to_owned(), keys.known()),
            ("keys.nodes".to_owned(), keys.nodes()),
            ("keys.message(12, 101)".to_owned(), keys.message(12, 101)),
            ("keys.messages_of('error')".to_owned(), keys.messages_of(MessageStatus::Error)),
            ("keys.sending('abc')".to_owned(), keys.sending("abc")),
            ("keys.sent('runner7')".to_owned(), keys.sent("runner7")),
            ("keys.awaited('runner7')".to_owned(), keys.awaited("runner7")),
            ("keys.runner_queue('sal')".to_owned(), keys.runner_queue(&sal)),
            ("keys.runners".to_owned(), keys.runners()),
            ("keys.taken_runners".to_owned(), format!("{}:taken", keys.runners())),
            ("keys.topics".to_owned(), keys.topics()),
            ("keys.revisions".to_owned(), keys.revisions()),
            ("keys.runner(7)".to_owned(), keys.runner(RunnerId(7))),
            ("keys.sequence('runner')".to_owned(), keys.sequence("runner")),
            ("keys.contexts".to_owned(), keys.contexts()),
            ("keys.closed".to_owned(), keys.closed()),
            ("keys.rate".to_owned(), keys.rate()),
            ("keys.stored".to_owned(), keys.stored()),
            ("keys.sequence('context')".to_owned(), keys.sequence("context")),
            ("keys.identity(7)".to_owned(), keys.identity(IdentityId(7))),
            ("keys.tokens_of(7)".to_owned(), keys.tokens_of(IdentityId(7))),
            ("keys.nonce('9d3c')".to_owned(), keys.nonce("9d3c")),
            ("keys.collection('io')".to_owned(), keys.collection(&io)),
            ("objects.of('io').objects".to_owned(), keys.objects(&io)),
        ];
        let targets = [
            (Target::Type, "nil, nil"),
            (Target::Type, "'', ''"),
            (Target::Type, "false, false"),
            (Target::Group(io.clone()), "'io', ''"),
            (Target::Group(io.clone()), "'io', false"),
            (Target::Instance(io.clone(), 3), "'io', '3'"),
            (Target::of(None, Some(3)), "false, '3'"),
            (Target::of(None, Some(3)), "'', '3'"),
        ];
        for (target, words) in targets {
            for (priority, word) in
                [(Priority::Urgent, "'0'"), (Priority::Normal, "'1'"), (Priority::Normal, "false"), (Priority::Low, "'2'")]
            {
                let queue = Queue { script_type: sal.clone(), target: target.clone(), priority };
                expected.push((format!("keys.work('sal', {words}, {word})"), keys.work(&queue)));
                expected.push((
                    format!("keys.fair_part(keys.work('sal', {words}, {word}), 'ring')"),
                    keys.fair_part(&keys.work(&queue), "ring"),
                ));
                expected.push((format!("keys.left(keys.work('sal', {words}, {word}))"), keys.left(&keys.work(&queue))));
            }
        }
        for (expression, key) in &expected {
            let script = script_behind_the_modules(&format!("return {expression}"));
            let caller = format!("{} server 1 1 1 {}", keys.context(), keys.prefix());
            let given = [&*caller, "=0", "", id.as_str(), server.as_str()];
            let built: String = redis.run(&[&["EVAL", &script, "0"][..], &given].concat()).await;
            assert_eq!(built, *key, "{expression}");
        }
    }
    // An actor's name that is none has no key.
    let script = script_behind_the_modules("return keys.control_instance('sal') == nil");
    let none: bool = redis.run(&["EVAL", &script, "0", "0 server 1 1 1", "=0", ""]).await;
    assert!(none);
}

#[test]
fn every_key_of_the_functions_is_compared() {
    let test = include_str!("keys.rs");
    let of_context = LUA.lines().filter_map(|line| line.strip_prefix("  keys.")?.split_once(" = prefix .. ").map(|(name, _)| name));
    let made = LUA.lines().filter_map(|line| line.strip_prefix("function keys.")?.split_once('(').map(|(name, _)| name));
    let names: Vec<&str> = of_context.chain(made).collect();
    assert!(names.len() > 35, "{names:?}");
    for name in names {
        if !matches!(name, "of_context" | "job_prefix") {
            assert!([format!("keys.{name}("), format!("\"keys.{name}\"")].iter().any(|call| test.contains(call)), "{name} is not compared");
        }
    }
}
