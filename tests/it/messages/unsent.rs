//! Outgoing messages end in time, wherever they are.

use hero::coordinator::Error;
use hero::model::{ErrorKind, JobId, JobSpec, Runner, Status};
use hero::store::{Settled, Tended};

use super::*;
use crate::support::spec;

/// A house without message loops, so that nothing is sent.
struct Quiet {
    house: House,
    messages: Messages,
    runner: Runner,
}

impl Quiet {
    async fn open() -> Self {
        let house = House::empty().await;
        let messages = Messages::new(house.dispatcher.clone(), Wakes::default());
        let runner = Runners::new(house.dispatcher.clone()).create(CONTEXT, &elsewhere("redis://10.0.0.7:6379", CONTEXT)).await.unwrap();
        Self { house, messages, runner }
    }

    /// A job that is away, and its message.
    async fn send_job(&self) -> (JobId, MessageKey) {
        let id = self.house.start(JobSpec { group: Some(self.runner.runner_id.group()), ..spec("1") }).await;
        let minute = Duration::from_secs(60);
        until("its message", || async {
            (self.house.store.messages().send_jobs(&self.runner, 32, minute, minute).await.unwrap() == 1).then_some(())
        })
        .await;
        let away: String = self.house.redis.run(&["HGET", &format!("hero:job:{id}"), "away"]).await;
        (id, away.parse().unwrap())
    }

    /// Looks after messages, when so many seconds more have passed.
    async fn tend_after(&self, seconds: u64) -> Tended {
        self.house.store.clock().advance(Duration::from_secs(seconds));
        self.house.store.messages().tend("me", 0).await.unwrap()
    }

    async fn message(&self, key: MessageKey) -> Message {
        self.messages.get(CONTEXT, key).await.unwrap()
    }

    /// The error of a job that has ended in one.
    async fn error_of(&self, id: &JobId) -> (ErrorKind, String) {
        self.house.is(id, Status::Error).await;
        let error = self.house.dispatcher.jobs().job(CONTEXT, id).await.unwrap().error.unwrap();
        (error.kind, error.message)
    }

    async fn pop(&self) {
        let _: Option<String> = self.house.redis.run(&["RPOP", "msg_out"]).await;
    }
}

const TAKEN: &str =
    "it was not acknowledged within 60 s (timeout_ack): another program has taken it out of msg_out, and has not said that it arrived";

#[tokio::test]
async fn what_goes_out_is_acknowledged_by_the_other_side_alone() {
    let quiet = Quiet::open().await;
    let (id, away) = quiet.send_job().await;
    let sent = quiet.messages.send(CONTEXT, chat("x", "redis://10.0.0.7:6379")).await.unwrap();
    let chat = MessageKey { caller_id: sent.caller_id, message_id: sent.message_id };
    for key in [away, chat] {
        let refused = quiet.messages.acknowledge(CONTEXT, key).await.unwrap_err();
        assert!(matches!(refused, Error::GoesOut { .. }) && refused.to_string().contains("delete_message takes it back"), "{refused}");
        assert_eq!(quiet.message(key).await.status, MessageStatus::Dispatched);
    }
    // In the hand of a node, and resting, too.
    quiet.house.store.messages().tend("me", 8).await.unwrap();
    assert!(matches!(quiet.messages.acknowledge(CONTEXT, chat).await, Err(Error::GoesOut { .. })));
    quiet.house.store.messages().settle("me", chat, &Settled::Later(Duration::from_secs(9))).await.unwrap();
    assert!(matches!(quiet.messages.acknowledge(CONTEXT, chat).await, Err(Error::GoesOut { .. })));
    quiet.messages.delete(CONTEXT, chat).await.unwrap();
    assert_eq!(quiet.house.dispatcher.jobs().status(CONTEXT, &id).await.unwrap(), Status::Started);
    let left: Vec<String> = quiet.house.redis.run(&["ZRANGE", "hero:q:unsent", "0", "-1"]).await;
    assert_eq!(left, [away.to_string()]);
}

#[tokio::test]
async fn what_another_program_takes_out_and_does_not_send_ends_in_an_error_with_its_job() {
    let quiet = Quiet::open().await;
    let (id, key) = quiet.send_job().await;
    quiet.pop().await;
    assert_eq!(quiet.tend_after(61).await.stops, []);
    assert_eq!(quiet.message(key).await.status, MessageStatus::Dispatched, "whoever has it may be about to say something");
    // It may have sent it all the same, so the other side is told.
    assert_eq!(quiet.tend_after(15).await.stops, [key]);
    let message = quiet.message(key).await;
    assert_eq!((message.status, message.error.as_deref()), (MessageStatus::Error, Some(TAKEN)));
    assert_eq!(quiet.error_of(&id).await, (ErrorKind::Unavailable, TAKEN.to_owned()));
    let left: i64 = quiet.house.redis.run(&["EXISTS", "hero:q:unsent"]).await;
    assert_eq!(left, 0);
}

#[tokio::test]
async fn what_lies_in_msg_out_until_its_time_is_over_says_so() {
    let quiet = Quiet::open().await;
    let (id, _) = quiet.send_job().await;
    quiet.tend_after(76).await;
    assert_eq!(quiet.error_of(&id).await.1, "it was not acknowledged within 60 s (timeout_ack): nobody sent it until then");
}

#[tokio::test]
async fn what_another_program_says_of_a_message_ends_its_job_in_time() {
    let quiet = Quiet::open().await;
    for status in ["error", "processed"] {
        let (id, key) = quiet.send_job().await;
        quiet.pop().await;
        let _: i64 = quiet.house.redis.run(&["HSET", &key.to_string(), "status", status]).await;
        quiet.tend_after(76).await;
        let told = format!("another program has said that its message is in status {status}");
        assert_eq!(quiet.error_of(&id).await, (ErrorKind::Unavailable, told));
    }
    // It has sent it: the result is awaited then.
    let (id, key) = quiet.send_job().await;
    quiet.pop().await;
    let _: i64 = quiet.house.redis.run(&["HSET", &key.to_string(), "status", "acknowledged"]).await;
    quiet.tend_after(76).await;
    assert_eq!(quiet.house.dispatcher.jobs().status(CONTEXT, &id).await.unwrap(), Status::Started);
    quiet.tend_after(61).await;
    assert_eq!(quiet.error_of(&id).await, (ErrorKind::Timeout, "no result came within 60 s (timeout_result)".to_owned()));
}

#[tokio::test]
async fn messages_taken_by_other_programs_count_until_they_end() {
    let quiet = Quiet::open().await;
    let _: Option<String> =
        quiet.house.redis.run(&["EVAL", "for n = 1, 10000 do redis.call('ZADD', KEYS[1], 1e15, n) end", "1", "hero:q:unsent"]).await;
    assert!(matches!(quiet.messages.send(CONTEXT, chat("x", "redis://10.0.0.7:6379")).await, Err(Error::Full(_))));
}
