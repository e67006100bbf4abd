//! Relations and limits of jobs from messages are the same as for jobs that clients create.

use hero::coordinator::Error;
use hero::coordinator::envelope::Envelope;
use hero::coordinator::receipt::ReceiptStatus;
use serde_json::{Value, json};

use super::trust::{boxes, deliver, envelope};
use super::*;

/// A job that names others so.
fn naming(field: &str, others: &Value) -> Value {
    json!([{ "id": 1, "script": "1", field: others }])
}

/// Jobs that no door takes, and what is said of them.
fn refused() -> Vec<(Value, &'static str)> {
    let env: BTreeMap<String, &str> = (0..257).map(|n| (format!("N{n}"), "")).collect();
    let pair = |first: Value, second: Value| json!([first, second]);
    vec![
        (naming("prerequisites", &json!(vec![7; 300_000])), "job[0]: prerequisites: names 300000 jobs, the limit is 1000"),
        (naming("dependends", &json!(vec![7; 1001])), "job[0]: dependends: names 1001 jobs, the limit is 1000"),
        (naming("prerequisites", &json!(["job:13:5"])), "job:13:5 is a job of another caller"),
        (naming("prerequisites", &json!([3, "job:12"])), "prerequisites[1]: job:12 is neither the number of a job nor its name"),
        (naming("prerequisites", &json!([1])), "job 1 would wait for itself"),
        (
            pair(json!({ "id": 1, "script": "1", "prerequisites": [2] }), json!({ "id": 2, "script": "1", "prerequisites": ["job:12:1"] })),
            "jobs 1, 2 would wait for each other",
        ),
        (
            pair(json!({ "id": 1, "script": "1", "prerequisites": [2], "dependends": [2] }), json!({ "id": 2, "script": "1" })),
            "jobs 1, 2 would wait for each other",
        ),
        (
            pair(json!({ "id": 1, "script": "1" }), json!({ "id": 1, "script": "1", "dependends": [1] })),
            "several jobs of the message have the number 1",
        ),
        (json!([{ "script": "1", "env_vars": env }]), "env_vars: has more than 256 entries"),
    ]
}

/// The longest script that is not too long, and a character more.
fn too_long() -> (Value, &'static str) {
    (json!([{ "script": "1".repeat((64 << 10) + 1) }]), "script has 65537 bytes, the limit is 65536")
}

fn draft(job: &Value) -> Draft {
    Draft { job: job.as_array().unwrap().iter().cloned().map(Into::into).collect(), ..jobs(&[], "here") }
}

#[tokio::test]
async fn what_no_client_may_create_no_message_may_send() {
    let town = Town::open(&NodeKey::random(), Plan::new(0)).await;
    for (job, part) in refused() {
        let why = town.messages.send(CONTEXT, draft(&job)).await.unwrap_err();
        assert!(
            matches!(&why, Error::Invalid { param: "job", message } if part.contains(message.as_str()) || message.contains(part)),
            "{why}"
        );
    }
    let stored: Vec<String> = town.redis().run(&["KEYS", "message:*"]).await;
    assert!(stored.is_empty(), "{stored:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_client_may_create_no_other_node_has_run_here() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let bus = boxes(&town, &one).await;
    for (at, (job, part)) in refused().into_iter().chain([too_long()]).enumerate() {
        let mut sent = Envelope { message_type: MessageType::Job, job: job.to_string(), ..envelope(&one, &two, &format!("n{at}")) };
        one.sign(&mut sent);
        let receipt = deliver(&bus, &sent).await;
        assert!(receipt.outcome == ReceiptStatus::Refused && receipt.text.contains(part), "{receipt:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_client_may_create_no_other_program_has_made() {
    let town = Town::open(&NodeKey::random(), Plan::new(0)).await;
    for (at, (job, part)) in refused().into_iter().chain([too_long()]).enumerate() {
        let key = format!("message:12:{}", 100 + at);
        let _: i64 = town.redis().run(&["HSET", &key, "message_type", "job", "job", &job.to_string()]).await;
        let _: i64 = town.redis().run(&["LPUSH", "msg_in", &key]).await;
        let why = town.fails(key.parse().unwrap()).await;
        assert!(why.contains(part), "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_get_other_numbers_here_wait_for_those_that_were_meant() {
    let town = Town::open(&NodeKey::random(), Plan::new(1)).await;
    let redis = town.redis();
    // Of another program, and it never ends.
    let _: i64 = redis.run(&["HSET", "job:12:1", "status", "started", "updated_at", "9999999999"]).await;
    let job = json!([{ "id": 2, "script": "2", "prerequisites": ["job:12:1"] }, { "id": 1, "script": "1", "dependends": [3] }, { "id": 3, "script": "3" }]);
    let key = town.send(draft(&job)).await;
    town.becomes(key, MessageStatus::Processed).await;
    until("the jobs have finished", || async {
        let made: Vec<Option<String>> = redis.run(&["HMGET", "job:12:2", "status", "prerequisites"]).await;
        let named = made[1].clone().unwrap();
        let other = named.trim_matches(['[', ']', '"']).to_owned();
        assert!(other.starts_with("job:12:") && other != "job:12:1", "{named}");
        let third: Vec<Option<String>> = redis.run(&["HMGET", "job:12:3", "status", "prerequisites"]).await;
        assert_eq!(third[1].as_deref(), Some(named.as_str()));
        (made[0].as_deref() == Some("finished") && third[0].as_deref() == Some("finished")).then_some(())
    })
    .await;
}
