use hero_model::Presence;
use hero_store::{self as store, Registration};

/// Why a pool does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else has the instance number.
    #[error("instance {registration} is taken: {} holds it; choose another number or leave the choice to hero", holder(.presence))]
    Taken {
        /// The registration.
        registration: Registration,
        /// What its holder says of himself.
        presence: Box<Presence>,
    },
    /// Redis did not do its part.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A pattern that masks log lines is wrong.
    #[error("the pattern {pattern:?}: {why}")]
    Mask {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
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
