use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Error;
use super::lease::HeldLeases;
use super::previous_servers::PreviousServers;
use super::settings::{Instances, PoolSettings};
use super::status::PoolStatus;
use hero_model::Presence;
use hero_process as process;
use hero_service::Service;
use hero_store::{self as store, Post, PostClaim, Store};

/// How often a presence is renewed.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Claims a post for every actor of a pool: the numbers asked for, or the lowest that are free. With them come the previous servers
/// whose posts were claimed.
pub(super) async fn claim_posts(
    store: &Store,
    settings: &PoolSettings,
    presence: &Presence,
) -> Result<(Vec<Post>, PreviousServers), Error> {
    let post = |instance| Post { script_type: settings.script_type.clone(), group: settings.group.clone(), instance };
    let (mut claimed, mut previous_servers) = (Vec::new(), PreviousServers::default());
    match &settings.instances {
        Instances::Numbers(numbers) => {
            for number in numbers {
                match claim(store, &post(*number), presence, &mut previous_servers).await? {
                    PostClaim::Claimed => claimed.push(post(*number)),
                    PostClaim::Taken(holder) => {
                        release_posts(store, &claimed, presence).await;
                        return Err(Error::Taken { post: post(*number), presence: holder });
                    }
                }
            }
        }
        Instances::Count(count) => {
            let actors = store.actors().await?;
            let of_group = actors.iter().filter(|actor| actor.script_type == settings.script_type && actor.group == settings.group);
            let busy: BTreeSet<u32> = of_group.filter(|actor| !has_ended(&actor.presence)).map(|actor| actor.instance).collect();
            let mut free = (1..).filter(|number| !busy.contains(number));
            while claimed.len() < *count as usize {
                let number = free.next().expect("numbers do not run out");
                // If somebody else has taken it just now, the next number is tried.
                if claim(store, &post(number), presence, &mut previous_servers).await? == PostClaim::Claimed {
                    claimed.push(post(number));
                }
            }
        }
    }
    Ok((claimed, previous_servers))
}

/// Claims a post that is free, or whose holder died on this machine: then there is no need to wait until the presence of the holder expires.
async fn claim(store: &Store, post: &Post, presence: &Presence, previous_servers: &mut PreviousServers) -> Result<PostClaim, Error> {
    let held = store.claim_post(post, presence).await?;
    let PostClaim::Taken(holder) = &held else { return Ok(held) };
    let Some(incarnation) = holder.incarnation.clone().filter(|_| has_ended(holder)) else { return Ok(held) };
    let held = store.take_over(post, presence, &incarnation).await?;
    // Whoever has the post now, the former holder is dead.
    previous_servers.add_dead(incarnation);
    Ok(held)
}

fn has_ended(holder: &Presence) -> bool {
    holder.process.as_deref().is_some_and(process::has_ended)
}

/// Releases posts. A post that cannot be released expires after 15 seconds anyway.
pub(super) async fn release_posts(store: &Store, posts: &[Post], presence: &Presence) {
    for post in posts {
        if let Err(error) = store.release_post(post, presence.incarnation.as_deref().unwrap_or_default()).await {
            tracing::debug!(%post, %error, "a post could not be released");
        }
    }
}

/// Renews the posts of a pool's actors every few seconds, which says that they live.
pub(super) struct Heartbeat {
    pub(super) store: Store,
    pub(super) posts: Vec<Post>,
    pub(super) presence: Presence,
    pub(super) status: Arc<PoolStatus>,
    pub(super) leases: HeldLeases,
    /// The previous servers of these actors, as long as leases of theirs remain.
    pub(super) previous_servers: Option<PreviousServers>,
}

impl Service for Heartbeat {
    type Error = store::Error;

    const NAME: &'static str = "saying that the actors here live";

    async fn tick(&mut self) -> Result<Duration, store::Error> {
        let running = self.status.running();
        for (actor, post) in self.posts.iter().enumerate() {
            self.presence.last_heartbeat = Some(self.store.clock().now());
            self.presence.in_flight = running.get(actor).map(|running| u32::try_from(*running).unwrap_or(u32::MAX));
            self.presence.confinement = self.status.confinement(actor);
            let held = self.store.claim_post(post, &self.presence).await?;
            self.status.beat(actor, matches!(held, PostClaim::Claimed));
            if let PostClaim::Taken(holder) = held {
                self.store.note_displaced().await?;
                tracing::error!(%post, holder = ?holder.hostname, pid = ?holder.pid, "somebody else took the post of an actor while this process was away");
            }
        }
        if let Some(previous_servers) = &mut self.previous_servers
            && previous_servers.recover(&self.store, &self.posts).await?
        {
            self.previous_servers = None;
        }
        let script_type = self.posts.first().map(|post| post.script_type.to_string()).unwrap_or_default();
        metrics::gauge!("hero_jobs_running", self.store.labels([("script_type", script_type)])).set(self.leases.len() as f64);
        Ok(HEARTBEAT)
    }
}
