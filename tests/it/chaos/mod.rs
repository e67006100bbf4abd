//! Chaos tests: at random moments under load, processes are killed or suspended, Redis is full, clocks jump, and keys
//! move between the nodes of a cluster. Nothing that was acknowledged is lost.

mod ground;
mod hash_slot;
mod load;
mod record;
mod town;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rand::Rng as _;
use rand::seq::SliceRandom as _;

use crate::support::{Kin, random, until};
use load::{Jobs, submit};
use town::{Fault, Town};

/// The number of clients that submit jobs.
const CLIENTS: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_job_ends_once_whatever_is_killed() {
    survive(Town::on_a_private_redis().await, &Fault::PRIVATE, 2000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_job_ends_once_whatever_happens_in_a_cluster_whose_slots_move() {
    survive(Town::on_a_cluster().await, &Fault::CLUSTER, 1200).await;
}

/// Runs all the faults under the load of at least this number of jobs.
async fn survive(mut town: Town, faults: &[(Fault, usize)], enough_jobs: usize) {
    let mut random = random();
    let (jobs, enough) = (Arc::new(Jobs::default()), Arc::new(AtomicBool::new(false)));
    let clients: Vec<_> =
        (0..CLIENTS).map(|client| tokio::spawn(submit(client, random.random(), town.addresses(), jobs.clone(), enough.clone()))).collect();

    let mut coming: Vec<Fault> = faults.iter().flat_map(|(fault, times)| std::iter::repeat_n(*fault, *times)).collect();
    coming.shuffle(&mut random);
    let every = enough_jobs / coming.len();
    let next = AtomicUsize::new(0);
    for fault in coming {
        // Spread over the whole load, and somewhere between two jobs.
        next.fetch_add(random.random_range(1..2 * every), Ordering::Relaxed);
        until("more jobs", || async { (jobs.acknowledged() >= next.load(Ordering::Relaxed)).then_some(()) }).await;
        for _ in 0..random.random_range(0..200) {
            tokio::task::yield_now().await;
        }
        town.suffer(fault, &jobs, &mut random).await;
        next.fetch_max(jobs.acknowledged(), Ordering::Relaxed);
    }
    until("enough jobs", || async { (jobs.acknowledged() >= enough_jobs).then_some(()) }).await;
    enough.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }

    let suffered = town.faults();
    assert!(faults.iter().all(|(fault, times)| suffered[fault] >= *times), "{suffered:?}");
    let crashes = record::check(&town, &jobs).await;
    println!("{} jobs, {crashes} crashes, {suffered:?}", jobs.acknowledged());
    let kin = town.kin();
    town.close().await;
    Kin::all_gone(&kin).await;
}
