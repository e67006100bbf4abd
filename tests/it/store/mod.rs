//! The functions, called one by one.

mod alarms;
mod clock_step;
mod cluster;
mod counters;
mod doors;
mod field_counts;
mod halfway;
mod index;
mod keys;
mod left;
mod library;
mod lists;
mod memory;
mod queues;
mod relations;
mod sharing;
mod silence;
mod spoilt;
mod state;
mod time;
mod unreadable;

use hero::model::ScriptType;
use hero::store::{ActorRoom, Ended, Fetch, Fetched, Store};

/// A fetch of an actor of osis that serves the queue of the type alone.
async fn fetch(store: &Store, ends: &[Ended], room: usize) -> Fetched {
    let (script_type, queues) = (ScriptType::default(), [("hero:q:work:type:osis".to_owned(), 0)]);
    let actors = [ActorRoom { actor: "osis:default:1".into(), room }];
    store.queues().fetch(&Fetch { script_type: &script_type, ends, actors: &actors, queues: &queues }).await.unwrap()
}
