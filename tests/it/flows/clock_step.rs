//! The clock of Redis is set back during an operation on the jobs of a flow.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_begun_with_a_flow_goes_on_before_the_clock_shows_that_time_again() {
    let (house, _server, client) = open(1).await;
    let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}}})).await;
    // Whoever began to start its jobs died, and then the clock was set back by an hour.
    let ahead = house.store.clock().now().plus(std::time::Duration::from_secs(3600)).as_millis().to_string();
    let _: i64 = house.redis.run(&["HSET", "flow:1", "busy", "starting", "at", "0", "begun_at", "2026-01-01T00:00:00.000Z"]).await;
    let _: i64 = house.redis.run(&["ZADD", "hero:q:flows", &ahead, "1"]).await;
    let done = client.ok("wait_flow", json!({"flow_id": flow, "wait_timeout": 60})).await;
    assert_eq!(done["status"], "finished");
    house.close().await;
}
