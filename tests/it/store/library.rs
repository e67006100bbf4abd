//! The library of Redis Functions: its installation, the fallback where it cannot be installed, and the code that its
//! functions share.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hero::model::{Backoff, JobId, JobSpec, Output, OutputFormat, ScriptType, Secrets, Status, Timestamp, parse_time};
use hero::server::settings::{self, SETTINGS};
use hero::store::{AttemptEnd, Claimed, Created, ERROR_FIELDS, Ended, Fetch, NewJob, Periods, Store, Walked, script_behind_the_modules};
use rand::Rng as _;

use super::fetch;
use crate::support::Redis;

fn new() -> NewJob {
    let spec = JobSpec { script: "1".into(), ..JobSpec::default() };
    NewJob { id: JobId::random(), spec, start: true, waited: false, occurrence: None, flow: None }
}

async fn take(store: &Store) -> Ended {
    let taken = fetch(store, &[], 1).await.taken.remove(0);
    let outcome = AttemptEnd::Finished(Output { text: "1".into(), format: OutputFormat::Json });
    Ended::of(taken.job, taken.attempt, taken.claim, taken.started_at, outcome)
}

/// The names of our libraries.
async fn libraries(redis: &Redis) -> BTreeSet<String> {
    let list: Vec<BTreeMap<String, redis::Value>> = redis.run(&["FUNCTION", "LIST", "LIBRARYNAME", "hero_*"]).await;
    let name = |library: &BTreeMap<String, redis::Value>| redis::from_redis_value(library["library_name"].clone()).unwrap();
    list.iter().map(name).collect()
}

#[tokio::test]
async fn servers_of_one_version_share_a_library_and_load_it_again_when_it_is_lost() {
    let redis = Redis::start().await;
    let (one, other) = (redis.store().await, redis.store().await);
    let own = libraries(&redis).await;
    assert_eq!(own.len(), 1);
    let _: () = redis.run(&["FUNCTION", "FLUSH"]).await;
    let (first, second) = (new(), new());
    let (first, second) = tokio::join!(one.jobs().create(first), other.jobs().create(second));
    assert_eq!((first.unwrap(), second.unwrap()), (Created::Created(Status::Dispatched), Created::Created(Status::Dispatched)));
    assert_eq!(libraries(&redis).await, own);
}

#[tokio::test]
async fn a_library_of_another_version_stays_for_as_long_as_somebody_calls_it() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let own = libraries(&redis).await;
    // The last says so after a backward step of the clock.
    for (name, idle) in [("hero_used", 599_999), ("hero_abandoned", 600_000), ("hero_set_back", -1)] {
        let code = format!(
            "#!lua name={name}\nredis.register_function({{ function_name = '{name}_idle', flags = {{ 'no-writes' }}, \
             callback = function() return {idle} end }})"
        );
        let _: String = redis.run(&["FUNCTION", "LOAD", &code]).await;
    }
    // Of somebody else, and not by our rules.
    let code = "#!lua name=hero_of_others\nredis.register_function('of_others', function() return 1 end)";
    let _: String = redis.run(&["FUNCTION", "LOAD", code]).await;
    assert_eq!(store.maintenance().tidy_libraries().await.unwrap(), 1);
    let others = ["hero_of_others", "hero_set_back", "hero_used"].map(ToOwned::to_owned);
    assert_eq!(libraries(&redis).await, own.iter().cloned().chain(others).collect());
}

#[tokio::test]
async fn a_library_says_for_how_long_nobody_has_called_it() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let own = libraries(&redis).await.pop_first().unwrap();
    store.jobs().create(new()).await.unwrap();
    let idle: u64 = redis.run(&["FCALL_RO", &format!("{own}_idle"), "0"]).await;
    assert!(idle < 60_000, "{idle}");
    // Its clock was an hour ahead then.
    store.clock().advance(std::time::Duration::from_secs(3600));
    store.jobs().create(new()).await.unwrap();
    assert_eq!(redis.run::<i64>(&["FCALL_RO", &format!("{own}_idle"), "0"]).await, 0);
}

#[tokio::test]
async fn where_a_user_may_not_load_functions_scripts_do_their_work() {
    let redis = Redis::start().await;
    let _: () = redis.run(&["ACL", "SETUSER", "default", "-function|load"]).await;
    let store = redis.store().await;
    assert_eq!(store.jobs().create(new()).await.unwrap(), Created::Created(Status::Dispatched));
    let ended = take(&store).await;
    assert_eq!(fetch(&store, std::slice::from_ref(&ended), 0).await.statuses, [Some(Status::Finished)]);
    assert_eq!(libraries(&redis).await, BTreeSet::new());
    assert_eq!(store.jobs().get(&ended.job).await.unwrap().unwrap().status, Status::Finished);
}

#[tokio::test]
async fn a_user_without_functions_is_no_reason_to_stop_looking_after_them() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let _: () = redis.run(&["ACL", "SETUSER", "default", "-function"]).await;
    assert_eq!(store.maintenance().tidy_libraries().await.unwrap(), 0);
    store.maintenance().keep_public_functions().await.unwrap();
    // Nor is one who may look, but take nothing away.
    let _: () = redis.run(&["ACL", "SETUSER", "default", "+function"]).await;
    let code = "#!lua name=hero_abandoned\nredis.register_function({ function_name = 'hero_abandoned_idle', flags = { 'no-writes' }, \
                callback = function() return 600000 end })";
    let _: String = redis.run(&["FUNCTION", "LOAD", code]).await;
    let _: () = redis.run(&["ACL", "SETUSER", "default", "-function|delete"]).await;
    assert_eq!(store.maintenance().tidy_libraries().await.unwrap(), 0);
    let _: () = redis.run(&["ACL", "SETUSER", "default", "+function|delete"]).await;
    assert_eq!(store.maintenance().tidy_libraries().await.unwrap(), 1);
}

#[tokio::test]
async fn public_functions_that_are_lost_come_back() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let _: () = redis.run(&["FUNCTION", "FLUSH"]).await;
    store.maintenance().keep_public_functions().await.unwrap();
    let _: String = redis.run(&["FCALL_RO", "hero_version", "0"]).await;
}

#[tokio::test]
async fn a_library_that_is_lost_while_redis_is_full_keeps_no_end_from_being_recorded() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    store.jobs().create(new()).await.unwrap();
    let ended = take(&store).await;
    let _: () = redis.run(&["FUNCTION", "FLUSH"]).await;
    let _: () = redis.run(&["CONFIG", "SET", "maxmemory", "1"]).await;
    assert_eq!(fetch(&store, std::slice::from_ref(&ended), 0).await.statuses, [Some(Status::Finished)]);
    assert!(store.jobs().create(new()).await.unwrap_err().out_of_memory());
    let _: () = redis.run(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert_eq!(store.jobs().create(new()).await.unwrap(), Created::Created(Status::Dispatched));
}

/// Returns the result of Lua code after the modules, for an argument.
async fn evaluated<T: redis::FromRedisValue>(redis: &Redis, code: &str, argument: &str) -> T {
    let script = script_behind_the_modules(code);
    redis.run(&["EVAL", &script, "0", "0 server 1 1 1", "=1000", "", argument]).await
}

#[tokio::test]
async fn times_are_read_as_they_are_written() {
    let redis = Redis::start().await;
    let mut random = crate::support::random();
    let any: Vec<i64> = (0..100).map(|_| random.random_range(0..253_402_300_799_999)).collect();
    let odd = [0, 951_782_399_999, 951_782_400_000, 951_868_800_000, 1_709_164_800_000, 4_107_542_400_000, 253_402_300_799_999];
    for millis in odd.into_iter().chain(any) {
        let text = Timestamp::from_millis(millis).to_string();
        let code = "local ms = time.millis(ARGV[4]) return { string.format('%.0f', ms), time.text(ms) }";
        assert_eq!(evaluated::<(i64, String)>(&redis, code, &text).await, (millis, text));
    }
    for (text, millis) in [
        ("1970-01-01T01:00:00+01:00", Some(0)),
        ("1969-12-31 23:30:00.5-00:30", Some(500)),
        ("1970-01-01T00:00:01", Some(1000)),
        ("yesterday", None),
        ("", None),
    ] {
        assert_eq!(evaluated::<Option<i64>>(&redis, "return time.millis(ARGV[4])", text).await, millis, "{text}");
    }
}

#[tokio::test]
async fn retries_wait_as_long_for_foreign_actors_as_for_ours() {
    let redis = Redis::start().await;
    for first in [0.0, 0.1, 1.0, 7.0, 299.0, 300.0, 4000.0] {
        for (failures, chance) in [(1, 0.0), (1, 1.0), (2, 0.5), (5, 0.25), (9, 0.75), (12, 1.0), (60, 0.5)] {
            let ours = Backoff::starting_with(Duration::from_secs_f64(first)).wait(failures, chance).as_secs_f64() * 1000.0;
            let code = format!("return string.format('%.0f', foreign.backoff(ARGV[4], {failures}, {chance}))");
            let theirs: f64 = evaluated(&redis, &code, &first.to_string()).await;
            assert!((ours - theirs).abs() <= 1.0, "{first} {failures} {chance}: {ours} and {theirs}");
        }
    }
    let theirs: u64 = evaluated(&redis, "return foreign.backoff(nil, 1, 0.5)", "").await;
    assert_eq!(Duration::from_millis(theirs), Backoff::DEFAULT_FIRST_WAIT);
}

#[tokio::test]
async fn constants_of_the_functions_equal_those_of_the_program() {
    let redis = Redis::start().await;
    assert_eq!(evaluated::<String>(&redis, "return jobs.DEFAULT_TYPE", "").await, ScriptType::default().to_string());
    assert_eq!(evaluated::<Vec<String>>(&redis, "return jobs.GIVEN", "").await, Claimed::GIVEN);
    let usual = evaluated::<Vec<String>>(&redis, "return field_counts.usual(jobs.GIVEN)", "").await;
    assert_eq!(usual, Claimed::GIVEN[..usual.len()], "rare fields come last");
    assert_eq!(evaluated::<Vec<String>>(&redis, "return jobs.ERROR", "").await, ERROR_FIELDS);
    let timeout = evaluated::<u64>(&redis, "return jobs.DEFAULT_TIMEOUT_SECONDS", "").await;
    assert_eq!(timeout, JobSpec::DEFAULT_TIMEOUT.as_secs());
    let late = Fetch::MAX_CALL_AGE.as_millis().to_string();
    assert_eq!(evaluated::<String>(&redis, "return tostring(request.LATE)", "").await, late);
    assert_eq!(evaluated::<u64>(&redis, "return news.STATS_SECONDS", "").await, Walked::COUNTERS_LAST.as_secs());
    let (kept, periods) = (evaluated::<Vec<u64>>(&redis, "return calling.KEPT", "").await, Periods::default());
    let defaults =
        [("retention_finished", periods.keep_finished), ("retention_error", periods.keep_error), ("retention_waited", periods.keep_waited)];
    assert_eq!(kept, defaults.map(|(_, period)| period.as_secs()));
    for (name, period) in defaults {
        let setting = SETTINGS.iter().find(|setting| setting.name == name).unwrap();
        let settings::Default::Is(text) = setting.default else { panic!("{name} has no default") };
        assert_eq!(parse_time(text).unwrap(), period, "{name}");
    }
    for status in Status::ALL {
        let waits = matches!(status, Status::Created | Status::Scheduled | Status::WaitingForPrerequisites);
        let said: (bool, bool) =
            evaluated(&redis, "return { values.is_waiting(ARGV[4]) and 1 or 0, values.is_final(ARGV[4]) and 1 or 0 }", status.as_str())
                .await;
        assert_eq!(said, (waits, status.is_final()), "{status:?}");
    }
}

/// Whether one of these jobs waits for itself, found by taking away those that wait for none that is left.
fn has_cycle(prerequisites: &BTreeMap<String, Vec<String>>) -> bool {
    let mut left = prerequisites.clone();
    while let Some(free) = left.iter().find(|(_, others)| !others.iter().any(|other| left.contains_key(other))).map(|(id, _)| id.clone()) {
        left.remove(&free);
    }
    !left.is_empty()
}

#[tokio::test]
async fn a_cycle_is_found_exactly_where_there_is_one() {
    let mut random = crate::support::random();
    let redis = Redis::start().await;
    let code = "local new = {} \
                for id, others in pairs(cjson.decode(ARGV[4])) do new[id] = { prerequisite = others, dependent = {} } end \
                local found = cycles.find(new, { left = 1000 }) \
                return found == true and { 'tangled' } or found or {}";
    let (mut with, mut without) = (0, 0);
    for round in 0..300 {
        let ids: Vec<String> = (0..8).map(|_| JobId::random().to_string()).collect();
        let mut graph: BTreeMap<String, Vec<String>> = ids.iter().map(|id| (id.clone(), Vec::new())).collect();
        for _ in 0..round % 14 {
            let (from, to) = (random.random_range(0..8), random.random_range(0..8));
            graph.get_mut(&ids[from]).unwrap().push(ids[to].clone());
        }
        // An empty list of Lua is an object in JSON, and is read as one.
        let found: Vec<String> = evaluated(&redis, code, &serde_json::to_string(&graph).unwrap()).await;
        assert_eq!(!found.is_empty(), has_cycle(&graph), "{graph:?}");
        for (at, id) in found.iter().enumerate() {
            // The last comes first: each is waited for by the one behind it.
            let waits = &graph[&found[(at + 1) % found.len()]];
            assert!(waits.contains(id), "{found:?} is no cycle of {graph:?}");
        }
        if found.is_empty() { without += 1 } else { with += 1 }
    }
    assert!(with > 30 && without > 30, "{with} and {without}");
}

#[tokio::test]
async fn relations_are_read_from_both_fields_and_a_list_that_is_none_is_told() {
    let redis = Redis::start().await;
    let code = "local ids = relations.foreign_prerequisites(ARGV[4], '[\"b\"]') \
                if not ids then return { 'unreadable' } end table.sort(ids) return ids";
    for (text, ids) in [
        ("[\"a\", \"c\"]", &["a", "b", "c"][..]),
        ("[\"a\",\"a\"]", &["a", "b"]),
        ("[]", &["b"]),
        ("", &["b"]),
        (" [ ] ", &["b"]),
        ("{}", &["b"]),
        ("null", &["b"]),
        ("a", &["unreadable"]),
        ("a,b", &["unreadable"]),
        ("[a]", &["unreadable"]),
        ("[1]", &["unreadable"]),
        ("['a']", &["unreadable"]),
        ("{\"a\":\"b\"}", &["unreadable"]),
        ("\"a\"", &["unreadable"]),
    ] {
        assert_eq!(evaluated::<Vec<String>>(&redis, code, text).await, ids, "{text}");
    }
}

/// A text without these values, as foreign actors have it, and as ours have it.
async fn masked(redis: &Redis, values: &[&str], text: &str) -> [String; 2] {
    let variables: BTreeMap<String, String> =
        values.iter().enumerate().map(|(at, value)| (format!("V{at}"), (*value).to_owned())).collect();
    let given = serde_json::json!([serde_json::to_string(&variables).unwrap(), text]).to_string();
    let code = "local given = cjson.decode(ARGV[4]) return masks.apply(given[2], given[1])";
    [evaluated(redis, code, &given).await, Secrets::of(&variables).masked(text.to_owned())]
}

#[tokio::test]
async fn what_foreign_actors_say_is_masked_as_what_ours_say() {
    let redis = Redis::start().await;
    let cases: [(&[&str], &str, &str); 16] = [
        (&["prod"], "in production, prod and prod_2 or (prod).prod", "in production, *** and prod_2 or (***).***"),
        (&["4711"], "14711 4711 47110 4711ü ü4711 ü 4711", "14711 *** 47110 4711ü ü4711 ü ***"),
        (&["prod"], "“prod” ‘prod’ «prod» „prod“ …prod… –prod— prod€ prod’s", "“***” ‘***’ «***» „***“ …***… –***— ***€ ***’s"),
        (&["prod"], "\u{a0}prod\u{a0}×prod÷ 😀prod😀 「prod」，prod。", "\u{a0}***\u{a0}×***÷ 😀***😀 「***」，***。"),
        (&["prod"], "яprod prodώ ạprodạ prod\u{300}", "яprod prodώ ạprodạ ***\u{300}"),
        (&["über"], "über xüber übers (über)", "*** xüber übers (***)"),
        (&["“a”"], "x“a”y", "x***y"),
        (&["密码"], "我的密码是", "我的***是"),
        (&["-ab-"], "x-ab-y", "x***y"),
        (&["hunter22"], "xhunter22y _hunter22_ “hunter22”", "x***y _***_ “***”"),
        (&["hunter22", "hunter"], "hunter22hunter hunter", "***hunter ***"),
        (&["abcdefgh", "efghijkl", "ghijklmnop"], "x abcdefghijklmnop y", "x *** y"),
        (&["abcdefgh", "ijklmnop"], "xabcdefghijklmnopx", "x***x"),
        (&["aaaaaaaa", "aaaaaaaaaaaa"], "baaaaaaaaaaaaaaaaaaaaaaaaaab", "b***b"),
        (&["one-line\nsecond-line\n"], "second-line, one-line", "***, ***"),
        (&["ab", "a\"b\u{7}"], "ab {\"k\":\"a\\\"b\\u0007\"}", "ab {\"k\":\"***\"}"),
    ];
    for (values, text, told) in cases {
        assert_eq!(masked(&redis, values, text).await, [told, told], "{values:?}");
    }
    // Whatever character stands beside a value.
    let characters: Vec<char> = ('\u{80}'..='\u{ffff}').chain('\u{10000}'..='\u{10400}').chain('\u{1f300}'..='\u{1f700}').collect();
    for some in characters.chunks(4096) {
        let text: String = some.iter().map(|beside| format!("{beside}abc {beside} abc{beside}\n")).collect();
        let [foreign, own] = masked(&redis, &["abc"], &text).await;
        let differ = foreign.lines().zip(own.lines()).find(|(foreign, own)| foreign != own);
        assert!(foreign == own, "{differ:?}");
    }
    // In too many places nothing is left.
    assert_eq!(masked(&redis, &["abc"], &"abc ".repeat(30_000)).await[0], "***");
    // Nor where they nearly stand in as many.
    let nearly: Vec<String> = (0..30).map(|at| format!("{}{at}", "a".repeat(3000))).collect();
    let nearly: Vec<&str> = nearly.iter().map(String::as_str).collect();
    assert_eq!(masked(&redis, &nearly, &"a".repeat(30_000)).await[0], "***");
}
