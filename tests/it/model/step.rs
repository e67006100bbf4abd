//! The steps that proptest generates and shrinks. Numbers select jobs and servers, modulo their count.

use proptest::collection::vec;
use proptest::prelude::*;

/// A job that a client wants.
#[derive(Debug, Clone)]
pub struct Wish {
    pub start: bool,
    /// Seconds until its time has come.
    pub later: Option<u8>,
    pub retries: u8,
    pub prerequisites: Vec<u8>,
    pub dependents: Vec<u8>,
    pub parent: Option<u8>,
    pub predecessor: Option<u8>,
}

/// How an attempt ends that a server of ours runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    Finished,
    Failed,
    Crashed,
    Requeued,
}

#[derive(Debug, Clone)]
pub enum Step {
    Create(Wish),
    /// All or none. Relations with a `true` name a job of the group.
    CreateGroup(Vec<(Wish, Vec<u8>)>),
    Start(u8),
    Claim {
        server: u8,
        room: u8,
    },
    End {
        server: u8,
        nth: u8,
        end: End,
    },
    Renew(u8),
    Stop(u8),
    Control(u8),
    Retry(u8),
    Delete(u8),
    /// The job is deleted by Redis because its time is over.
    Expire(u8),
    Pause(bool),
    Promote,
    Reap,
    /// Releases all, at most this number of relatives at a time.
    Release(u8),
    /// Seconds.
    Advance(u8),
    Die(u8),
    /// A foreign client writes a job and pushes it.
    Write {
        prerequisites: Vec<u8>,
        parent: Option<u8>,
    },
    /// A server of ours comes across a job that a foreign program may have written.
    Discover(u8),
    /// A foreign client pushes an id again.
    Push(u8),
    /// A foreign actor pops an id.
    Take,
    /// It says that it began.
    Begin(u8),
    /// It says that the job ended.
    Finish {
        nth: u8,
        well: bool,
    },
}

fn wish() -> impl Strategy<Value = Wish> {
    let some = |share: f64| prop::option::weighted(share, any::<u8>());
    (
        prop::bool::weighted(0.8),
        prop::option::weighted(0.15, 1..20_u8),
        0..3_u8,
        prop_oneof![3 => Just(Vec::new()), 2 => vec(any::<u8>(), 1..3)],
        prop_oneof![9 => Just(Vec::new()), 1 => vec(any::<u8>(), 1..3)],
        some(0.2),
        some(0.15),
    )
        .prop_map(|(start, later, retries, prerequisites, dependents, parent, predecessor)| Wish {
            start,
            later,
            retries,
            prerequisites,
            dependents,
            parent,
            predecessor,
        })
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![5 => Just(End::Finished), 3 => Just(End::Failed), 1 => Just(End::Crashed), 1 => Just(End::Requeued)]
}

pub fn step() -> impl Strategy<Value = Step> {
    let job = any::<u8>;
    prop_oneof![
        12 => wish().prop_map(Step::Create),
        3 => vec((wish(), vec(any::<u8>(), 0..3)), 2..5).prop_map(Step::CreateGroup),
        4 => job().prop_map(Step::Start),
        12 => (any::<u8>(), 1..4_u8).prop_map(|(server, room)| Step::Claim { server, room }),
        16 => (any::<u8>(), any::<u8>(), end()).prop_map(|(server, nth, end)| Step::End { server, nth, end }),
        2 => job().prop_map(Step::Renew),
        5 => job().prop_map(Step::Stop),
        2 => job().prop_map(Step::Control),
        5 => job().prop_map(Step::Retry),
        3 => job().prop_map(Step::Delete),
        2 => job().prop_map(Step::Expire),
        2 => prop::bool::weighted(0.3).prop_map(Step::Pause),
        6 => Just(Step::Promote),
        6 => Just(Step::Reap),
        8 => (1..6_u8).prop_map(Step::Release),
        6 => prop_oneof![1..8_u8, 25..40_u8, Just(100_u8)].prop_map(Step::Advance),
        1 => job().prop_map(Step::Die),
        3 => (prop_oneof![2 => Just(Vec::new()), 1 => vec(any::<u8>(), 1..3)], prop::option::weighted(0.2, any::<u8>()))
            .prop_map(|(prerequisites, parent)| Step::Write { prerequisites, parent }),
        3 => job().prop_map(Step::Discover),
        2 => job().prop_map(Step::Push),
        4 => Just(Step::Take),
        4 => job().prop_map(Step::Begin),
        4 => (any::<u8>(), any::<bool>()).prop_map(|(nth, well)| Step::Finish { nth, well }),
    ]
}
