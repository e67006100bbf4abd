//! Actors that restart under the same name.

use std::collections::BTreeSet;

use hero::actor::{Instances, Pool, PoolSettings};
use hero::client::Client;
use hero::model::{ContextId, JobId, JobSpec, Presence, Status};
use hero::process::Spawner;
use hero::store::{ActorRoom, Claimed, Fetch, Recovered, Registration, RegistrationClaim, Store};
use tokio_util::sync::CancellationToken;

use super::{hget, hset, lpush};
use crate::support::{PATIENCE, Process, Redis, dispatcher, pool_settings, until};

const CONTEXT: ContextId = ContextId(0);
/// Far longer than any test waits.
const LEASE: [&str; 2] = ["--lease", "1h"];

async fn start(client: &Client, script: &str) -> JobId {
    let id = client.create_job(&JobSpec { script: script.into(), ..JobSpec::default() }).await.unwrap();
    client.start_job(CONTEXT, &id).await.unwrap();
    id
}

async fn runs(client: &Client, id: &JobId, attempt: u32) {
    until("its start", || async {
        client.get_job(CONTEXT, id).await.ok().filter(|job| job.status == Status::Started && job.attempt == attempt)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_and_started_again_runs_its_jobs_again_at_once() {
    let (redis, home) = (Redis::start().await, tempfile::tempdir().unwrap());
    let (url, data) = (redis.url(), home.path().join("data"));
    let config = home.path().join("hero.toml");
    std::fs::write(&config, "[[pools]]\ntype = \"osis\"\ninstances = [3]\n").unwrap();
    let by_number = ["--redis", &url, "--config", config.to_str().unwrap(), LEASE[0], LEASE[1]];
    let by_count = ["--redis", &url, "--pool", "osis=1", LEASE[0], LEASE[1]];
    for (arguments, name) in [(by_number, "osis:default:3"), (by_count, "osis:default:1")] {
        let mut server = Process::serve(&data, &arguments).await;
        let client = server.client().await;
        let id = start(&client, "sleep(1); 5").await;
        runs(&client, &id, 1).await;
        server.kill().await;
        let again = Process::serve(&data, &arguments).await;
        let client = again.client().await;
        // Neither did the registration have to wait until the presence was over.
        let actors = client.list_actors(CONTEXT).await.unwrap();
        assert_eq!((actors.len(), actors[0].presence.pid), (1, Some(again.pid())));
        let result = client.wait_job(CONTEXT, &id, PATIENCE).await.unwrap();
        let job = client.get_job(CONTEXT, &id).await.unwrap();
        assert_eq!((result.output.as_str(), job.attempt, job.crashes, job.actor.as_deref()), ("5", 2, 1, Some(name)));
        again.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lives_keeps_its_posts_and_its_jobs() {
    let (redis, home) = (Redis::start().await, tempfile::tempdir().unwrap());
    let url = redis.url();
    let arguments = ["--redis", &url, "--pool", "osis=1", LEASE[0], LEASE[1]];
    let first = Process::serve(&home.path().join("first"), &arguments).await;
    let client = first.client().await;
    let id = start(&client, "sleep(3); 5").await;
    runs(&client, &id, 1).await;
    // It is only slow.
    rustix::process::kill_process(rustix::process::Pid::from_raw(first.pid().cast_signed()).unwrap(), rustix::process::Signal::STOP)
        .unwrap();
    let second = Process::serve(&home.path().join("second"), &arguments).await;
    let client = second.client().await;
    let actors = client.list_actors(CONTEXT).await.unwrap();
    assert_eq!(actors.iter().map(|actor| actor.presence.pid).collect::<Vec<_>>(), [Some(first.pid()), Some(second.pid())]);
    rustix::process::kill_process(rustix::process::Pid::from_raw(first.pid().cast_signed()).unwrap(), rustix::process::Signal::CONT)
        .unwrap();
    let result = client.wait_job(CONTEXT, &id, PATIENCE).await.unwrap();
    assert_eq!((result.attempt, client.get_job(CONTEXT, &id).await.unwrap().crashes), (1, 0));
    second.stop().await;
    first.stop().await;
}

fn registration() -> Registration {
    Registration { script_type: "osis".parse().unwrap(), group: "default".parse().unwrap(), instance: 1 }
}

fn presence(of: &Store, process: Option<String>) -> Presence {
    Presence { incarnation: Some(of.server().to_string()), process, ..Presence::default() }
}

/// A job that a server took in the name of the registration.
async fn taken(redis: &Redis, store: &Store) -> Claimed {
    let id = JobId::random();
    hset(redis, &id, "1", &[]).await;
    lpush(redis, super::OSIS, &id).await;
    take(store).await
}

/// The next job, taken in the name of the registration.
async fn take(store: &Store) -> Claimed {
    let (script_type, queues) = ("osis".parse().unwrap(), [(super::OSIS.to_owned(), 0)]);
    let actors = [ActorRoom { actor: registration().to_string(), room: 1 }];
    store.queues().fetch(&Fetch { script_type: &script_type, ends: &[], actors: &actors, queues: &queues }).await.unwrap().taken.remove(0)
}

#[tokio::test]
async fn only_a_dead_holder_can_be_followed_before_its_presence_is_over() {
    let redis = Redis::start().await;
    let (old, new, other) = (redis.store().await, redis.store().await, redis.store().await);
    assert_eq!(old.actors().claim_post(&registration(), &presence(&old, None)).await.unwrap(), RegistrationClaim::Claimed);
    let dead = old.server().to_string();
    assert!(matches!(
        new.actors().take_over(&registration(), &presence(&new, None), "somebody else").await.unwrap(),
        RegistrationClaim::Taken(_)
    ));
    assert_eq!(new.actors().take_over(&registration(), &presence(&new, None), &dead).await.unwrap(), RegistrationClaim::Claimed);
    // Of two who know, the first has it.
    assert!(matches!(
        other.actors().take_over(&registration(), &presence(&other, None), &dead).await.unwrap(),
        RegistrationClaim::Taken(_)
    ));
    // A foreign actor has no incarnation, and is never followed.
    let key = "hero:meta:actor:inst:osis:default:1";
    for said in ["{}", "", "[]", "{\"incarnation\":\"\"}"] {
        let _: () = redis.run(&["SET", key, said]).await;
        assert!(
            matches!(new.actors().take_over(&registration(), &presence(&new, None), "").await.unwrap(), RegistrationClaim::Taken(_)),
            "{said}"
        );
    }
    let _: i64 = redis.run(&["DEL", key]).await;
    let _: i64 = redis.run(&["LPUSH", key, "x"]).await;
    assert!(matches!(new.actors().claim_post(&registration(), &presence(&new, None)).await.unwrap(), RegistrationClaim::Taken(_)));
}

#[tokio::test]
async fn jobs_are_taken_from_dead_servers_only() {
    let redis = Redis::start().await;
    let (old, new) = (redis.store().await, redis.store().await);
    let job = taken(&redis, &old).await.job;
    let (owner, nobody) = (old.server().to_string(), BTreeSet::new());
    // It shows itself.
    old.actors().claim_post(&registration(), &presence(&old, None)).await.unwrap();
    assert_eq!(new.queues().recover(&[registration()], &nobody).await.unwrap().live, BTreeSet::from([owner.clone()]));
    // It does not: Redis may have been away. And again it does, although another has its registration.
    let _: i64 = redis.run(&["DEL", "hero:meta:actor:inst:osis:default:1"]).await;
    new.actors().claim_post(&registration(), &presence(&new, None)).await.unwrap();
    assert_eq!(new.queues().recover(&[registration()], &nobody).await.unwrap().silent, BTreeSet::from([owner.clone()]));
    old.actors().note_displaced().await.unwrap();
    let seen = new.queues().recover(&[registration()], &nobody).await.unwrap();
    assert_eq!((seen.ended, seen.live.len(), seen.silent.len()), (0, 1, 0));
    new.queues().reap(128).await.unwrap();
    assert_eq!(hget(&redis, &job, "status").await.as_deref(), Some("started"));
    // Who follows another actor does not ask for it; but who knows that it is dead takes all it had.
    assert_eq!(new.queues().recover(&[Registration { instance: 2, ..registration() }], &nobody).await.unwrap(), Recovered::default());
    let dead = BTreeSet::from([owner]);
    assert_eq!(new.queues().recover(&[Registration { instance: 2, ..registration() }], &dead).await.unwrap().ended, 1);
    new.queues().reap(128).await.unwrap();
    assert_eq!(
        (hget(&redis, &job, "status").await.as_deref(), hget(&redis, &job, "crashes").await.as_deref()),
        (Some("dispatched"), Some("1"))
    );
}

#[tokio::test]
async fn nothing_but_its_lease_says_whether_an_actor_lives_that_claims_by_functions() {
    let redis = Redis::start().await;
    let (new, id) = (redis.store().await, JobId::random());
    hset(&redis, &id, "1", &[]).await;
    lpush(&redis, super::OSIS, &id).await;
    let claimed: Vec<String> = redis.run(&["FCALL", "hero_claim", "1", super::OSIS, "alice:1", "0", "osis:default:1", "600000"]).await;
    assert_eq!(claimed[1], id.as_str());
    // It shows itself nowhere, and a pool has its registration.
    new.actors().claim_post(&registration(), &presence(&new, None)).await.unwrap();
    assert_eq!(new.queues().recover(&[registration()], &BTreeSet::new()).await.unwrap(), Recovered::default());
    // Who takes the job after it is one of ours again.
    let claim = claimed[3].as_str();
    let _: String = redis.run(&["FCALL", "hero_release", "1", &format!("hero:job:{id}"), "alice:1", "0", claim]).await;
    let old = redis.store().await;
    assert_eq!(take(&old).await.job, id);
    assert_eq!(new.queues().recover(&[registration()], &BTreeSet::new()).await.unwrap().silent, BTreeSet::from([old.server().to_string()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_takes_the_posts_of_a_process_that_ended_here() {
    let redis = Redis::start().await;
    let (old, new) = (redis.store().await, redis.store().await);
    let own = hero::process::identity().unwrap();
    // The same number at another time: that process has ended.
    let ended = format!("{}/1", own.rsplit_once('/').unwrap().0);
    let (settings, spawner) =
        (PoolSettings { instances: Instances::Numbers(vec![1]), ..pool_settings(redis.directory(), 1) }, Spawner::start().unwrap());
    let pool = async || {
        let dispatcher = dispatcher([new.clone()], redis.directory());
        Pool::start(new.clone(), dispatcher, spawner.clone(), settings.clone(), CancellationToken::new()).await
    };
    old.actors().claim_post(&registration(), &presence(&old, Some(own))).await.unwrap();
    assert!(pool().await.is_err());
    old.actors().claim_post(&registration(), &presence(&old, None)).await.unwrap();
    assert!(pool().await.is_err());
    old.actors().claim_post(&registration(), &presence(&old, Some(ended))).await.unwrap();
    assert_eq!(pool().await.unwrap().registrations, [registration()]);
}

#[tokio::test]
async fn a_post_is_held_whatever_became_of_the_set_of_actors() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let _: String = redis.run(&["SET", "hero:meta:actors", "x"]).await;
    assert_eq!(store.actors().claim_post(&registration(), &presence(&store, None)).await.unwrap(), RegistrationClaim::Claimed);
    assert_eq!(redis.run::<Vec<String>>(&["SMEMBERS", "hero:meta:actors"]).await, ["hero:meta:actor:inst:osis:default:1"]);
}
