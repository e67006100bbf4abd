use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn when_a_node_dies_other_contexts_go_on_and_its_own_go_on_with_the_replica() {
    let mut cluster = Cluster::start(&[]).await;
    let lost = ContextId(3);
    let victim = cluster.owner(&key(lost, "x")).await;
    let replica = cluster.add_replica(victim, &[]).await;
    let mut others = Vec::new();
    for context in CONTEXTS {
        if cluster.owner(&key(context, "x")).await != victim {
            others.push(context);
        }
    }
    assert_eq!(others.len(), 4);
    // The address that the server was given is that of the node that dies.
    let server = Server::open(&cluster, cluster.node(victim).endpoint()).await;
    let mut events = Box::pin(server.dispatcher.events().follow(lost, Default::default(), None).await.unwrap());

    let running = server.start(spec(lost, "sleep(2.0); 7")).await;
    let far = server.dispatcher.contexts().opened(lost).unwrap().clock().now().plus(std::time::Duration::from_secs(3));
    let delayed = server.start(JobSpec { run_at: Some(far), ..spec(lost, "8") }).await;
    // Only what the replica has can survive.
    for (id, status) in [(&running, "started"), (&delayed, "scheduled")] {
        until("the replica has the job", || async {
            let mut pipe = redis::pipe();
            pipe.cmd("READONLY").ignore().cmd("HGET").arg(key(lost, &format!("job:{id}"))).arg("status");
            let client = redis::Client::open(cluster.node(replica).url()).unwrap();
            let mut connection = crate::support::connection(&client).await.ok()?;
            let (found,): (Option<String>,) = pipe.query_async(&mut connection).await.ok()?;
            (found.as_deref() == Some(status)).then_some(())
        })
        .await;
    }
    cluster.kill(victim);

    // The replica may not take over yet, so this is all while the node is away.
    for round in 0..3 {
        for context in &others {
            assert_eq!(server.output(*context, &format!("{round}")).await, round.to_string());
        }
    }
    let refused = server.dispatcher.jobs().create(spec(lost, "1")).await.unwrap_err();
    assert!(matches!(refused, hero::dispatch::Error::Store { .. }), "{refused}");

    cluster.node(replica).may_take_over().await;
    assert_eq!(server.end(lost, &running).await, "7");
    assert_eq!(server.end(lost, &delayed).await, "8");
    let mut seen = BTreeSet::new();
    while !(seen.contains(&(running.clone(), Status::Finished)) && seen.contains(&(delayed.clone(), Status::Finished))) {
        match tokio::time::timeout(PATIENCE, events.next()).await.unwrap().unwrap() {
            Ok(Followed::Item(event)) => drop(seen.insert((event.job_id, event.status))),
            other => panic!("{other:?}"),
        }
    }
    everything_works(&server, lost).await;
    // What foreign programs push to the new node is seen, too.
    let (node, id) = (cluster.node(replica), JobId::random());
    let _: i64 = node.run(&["HSET", &key(lost, &format!("job:{id}")), "script", "9", "script_type", "osis"]).await;
    let _: i64 = node.run(&["LPUSH", &key(lost, "q:work:type:osis"), id.as_str()]).await;
    assert_eq!(server.end(lost, &id).await, "9");
    for context in others {
        assert_eq!(server.output(context, "1").await, "1");
    }
    server.close().await;
    for node in cluster.living() {
        assert!(!node.saw_several_slots().await);
    }
}
