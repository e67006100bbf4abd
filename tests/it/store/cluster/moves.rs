use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use hero::dispatch::{Error, Followed};
use hero::model::{ContextId, JobId, JobSpec, Status};
use hero::store::{Peek, Periods};

use super::{Server, connect, connect_with, key, spec};
use crate::support::{Cluster, Node, PATIENCE, dispatcher, until};

/// A slot on its way from one node to another.
struct Move<'c> {
    source: &'c Node,
    target: &'c Node,
    slot: String,
}

impl<'c> Move<'c> {
    async fn begin(source: &'c Node, target: &'c Node, context: ContextId) -> Self {
        let slot: u16 = source.run(&["CLUSTER", "KEYSLOT", &key(context, "x")]).await;
        let [source_id, target_id] = [source.run::<String>(&["CLUSTER", "MYID"]).await, target.run(&["CLUSTER", "MYID"]).await];
        let slot = slot.to_string();
        target.ok(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source_id]).await;
        source.ok(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target_id]).await;
        Self { source, target, slot }
    }

    /// Moves a few keys. False: there are none left.
    async fn some(&self) -> bool {
        let keys: Vec<String> = self.source.run(&["CLUSTER", "GETKEYSINSLOT", &self.slot, "5"]).await;
        let words = ["MIGRATE", "127.0.0.1", &self.target.port().to_string(), "", "0", "5000", "KEYS"];
        if !keys.is_empty() {
            self.source.ok(&words.into_iter().chain(keys.iter().map(String::as_str)).collect::<Vec<_>>()).await;
        }
        !keys.is_empty()
    }

    async fn end(self) {
        while self.some().await {}
        let id: String = self.target.run(&["CLUSTER", "MYID"]).await;
        for node in [self.target, self.source] {
            node.ok(&["CLUSTER", "SETSLOT", &self.slot, "NODE", &id]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_for_seconds_under_load_costs_no_job_its_attempt() {
    let cluster = Cluster::start(&[]).await;
    let context = ContextId(4);
    let (from, to) = (cluster.owner(&key(context, "x")).await, cluster.owner(&key(ContextId(2), "x")).await);
    let periods = Periods { lease: Duration::from_secs(2), ..Periods::default() };
    let store = connect_with(&cluster.node(to).endpoint(), context, periods).await.unwrap().0;
    let server = Server::with(&cluster, vec![store], 3).await;
    let dispatcher = &server.dispatcher;
    // It runs for longer than a lease, and than any of the moves.
    let long = server.start(spec(context, "sleep(25); 1")).await;
    server.is(context, &long, Status::Started).await;

    let (enough, ran) = (AtomicBool::new(false), AtomicUsize::new(0));
    let caller = |caller: usize| {
        let (enough, ran, server) = (&enough, &ran, &server);
        async move {
            let mut jobs = Vec::new();
            while !enough.load(Ordering::Relaxed) {
                let (id, number) = (JobId::random(), caller * 1_000_000 + jobs.len());
                let job = JobSpec { job_id: Some(id.clone()), ..spec(context, &format!("sleep(0.005); {number}")) };
                until("the job is stored", || async {
                    match dispatcher.jobs().create(job.clone()).await {
                        Ok(_) | Err(Error::Exists { .. }) => Some(()),
                        Err(Error::Store { .. }) => None,
                        Err(error) => panic!("{error}"),
                    }
                })
                .await;
                until("the job is started", || async {
                    match dispatcher.jobs().start(context, &id).await {
                        Ok(_) | Err(Error::State { .. }) => Some(()),
                        Err(Error::Store { .. }) => None,
                        Err(error) => panic!("{error}"),
                    }
                })
                .await;
                assert_eq!(server.end(context, &id).await, number.to_string());
                jobs.push(id);
                ran.fetch_add(1, Ordering::Relaxed);
            }
            jobs
        }
    };
    let moves = async {
        for (source, target) in [(from, to), (to, from)] {
            let before = ran.load(Ordering::Relaxed);
            until("jobs run", || async { (ran.load(Ordering::Relaxed) > before + 50).then_some(()) }).await;
            let moving = Move::begin(cluster.node(source), cluster.node(target), context).await;
            let (began, mut pace) = (Instant::now(), tokio::time::interval(Duration::from_millis(200)));
            // Longer than a lease.
            while began.elapsed() < Duration::from_secs(5) {
                pace.tick().await;
                moving.some().await;
            }
            moving.end().await;
        }
        enough.store(true, Ordering::Relaxed);
    };
    let (jobs, ()) = tokio::join!(futures_util::future::join_all((0..6).map(caller)), moves);
    assert_eq!(server.end(context, &long).await, "1");
    let jobs: Vec<JobId> = jobs.into_iter().flatten().chain([long]).collect();
    for id in &jobs {
        let job = dispatcher.jobs().job(context, id).await.unwrap();
        assert_eq!((job.status, job.attempt), (Status::Finished, 1), "{job:?}");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_whose_slot_moves_is_followed() {
    let cluster = Cluster::start(&[]).await;
    let context = ContextId(4);
    let (from, to) = (cluster.owner(&key(context, "x")).await, cluster.owner(&key(ContextId(2), "x")).await);
    assert_ne!(from, to);
    // Each learns by itself that the slot has moved.
    let mut stores = Vec::new();
    for _ in 0..4 {
        stores.push(connect(&cluster.node(to).endpoint(), context).await.unwrap().0);
    }
    let [store, asked, listed, peeked] = stores.try_into().ok().unwrap();
    let dispatcher = dispatcher([store.clone()], cluster.directory());
    let id = dispatcher.jobs().create(spec(context, "1")).await.unwrap();
    let mut events = Box::pin(dispatcher.events().follow(context, Default::default(), None).await.unwrap());

    let [source, target] = [cluster.node(from), cluster.node(to)];
    Move::begin(source, target, context).await.end().await;

    // A function, a plain command, SCAN with a pipeline, a connection of its own, and the reader of the events.
    assert_eq!(dispatcher.jobs().start(context, &id).await.unwrap(), Status::Dispatched);
    assert_eq!(asked.jobs().get(&id).await.unwrap().unwrap().job_id, id);
    assert_eq!(listed.jobs().list(&Default::default(), None, 10, usize::MAX).await.unwrap().unwrap().jobs.len(), 1);
    let (peek, queue) = (tokio::sync::Mutex::new(Peek::new(peeked)), key(context, "q:work:type:osis"));
    until("the queue is seen", || async { peek.lock().await.wait(&queue).await.ok().filter(|there| *there) }).await;
    let event = tokio::time::timeout(PATIENCE, events.next()).await.unwrap();
    assert!(matches!(event, Some(Ok(Followed::Item(event))) if event.job_id == id && event.status == Status::Dispatched));
    assert!(source.keys().await.is_empty());
}
