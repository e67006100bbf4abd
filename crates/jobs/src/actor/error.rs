use hero_model::Presence;
use hero_store::{self as store, Registration};

/// The reason why a pool does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process holds the instance number.
    #[error("instance {registration} is taken: {} holds it; choose another number or leave the choice to hero", holder(.presence))]
    Taken {
        /// The registration.
        registration: Registration,
        /// The presence of its holder.
        presence: Box<Presence>,
    },
    /// A call to Redis failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A pattern that masks log lines is wrong.
    #[error("the pattern {pattern:?}: {why}")]
    Mask {
        /// The pattern.
        pattern: String,
        /// The error in it.
        why: String,
    },
}

fn holder(presence: &Presence) -> String {
    let host = presence.hostname.as_deref().unwrap_or("somebody");
    match (presence.pid, presence.started_at) {
        (Some(pid), Some(since)) => format!("process {pid} on {host}, since {since},"),
        (Some(pid), None) => format!("process {pid} on {host}"),
        _ => host.to_owned(),
    }
}
