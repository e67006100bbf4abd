use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Error;
use super::fetcher::PoolMode;
use super::lease::HeldLeases;
use super::previous_servers::PreviousServers;
use super::settings::{Instances, PoolSettings};
use super::status::PoolStatus;
use hero_model::Presence;
use hero_process as process;
use hero_service::Service;
use hero_store::{self as store, Registration, RegistrationClaim, Store};

/// The interval at which a presence is renewed.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);

/// Claims a registration for every actor of a pool: the configured numbers, or the lowest that are free. Also returns
/// the previous servers whose registrations were claimed.
pub(super) async fn claim_registrations(
    store: &Store,
    settings: &PoolSettings,
    presence: &Presence,
) -> Result<(Vec<Registration>, PreviousServers), Error> {
    let registration = |instance| Registration { script_type: settings.script_type.clone(), group: settings.group.clone(), instance };
    let (mut claimed, mut previous_servers) = (Vec::new(), PreviousServers::default());
    match &settings.instances {
        Instances::Numbers(numbers) => {
            for number in numbers {
                match claim(store, &registration(*number), presence, &mut previous_servers).await? {
                    RegistrationClaim::Claimed => claimed.push(registration(*number)),
                    RegistrationClaim::Taken(holder) => {
                        release_registrations(store, &claimed, presence).await;
                        return Err(Error::Taken { registration: registration(*number), presence: holder });
                    }
                }
            }
        }
        Instances::Count(count) => {
            let actors = store.actors().list().await?;
            let of_group = actors.iter().filter(|actor| actor.script_type == settings.script_type && actor.group == settings.group);
            let busy: BTreeSet<u32> = of_group.filter(|actor| !has_ended(&actor.presence)).map(|actor| actor.instance).collect();
            let mut free = (1..).filter(|number| !busy.contains(number));
            while claimed.len() < *count as usize {
                let number = free.next().expect("numbers do not run out");
                // If another process has taken it meanwhile, the next number is tried.
                if claim(store, &registration(number), presence, &mut previous_servers).await? == RegistrationClaim::Claimed {
                    claimed.push(registration(number));
                }
            }
        }
    }
    Ok((claimed, previous_servers))
}

/// Claims a registration that is free, or whose holder died on this machine. In the second case it need not wait until
/// the presence of the holder expires.
async fn claim(
    store: &Store,
    registration: &Registration,
    presence: &Presence,
    previous_servers: &mut PreviousServers,
) -> Result<RegistrationClaim, Error> {
    let held = store.actors().claim_post(registration, presence).await?;
    let RegistrationClaim::Taken(holder) = &held else { return Ok(held) };
    let Some(incarnation) = holder.incarnation.clone().filter(|_| has_ended(holder)) else { return Ok(held) };
    let held = store.actors().take_over(registration, presence, &incarnation).await?;
    // Whoever has the registration now, the former holder is dead.
    previous_servers.add_dead(incarnation);
    Ok(held)
}

fn has_ended(holder: &Presence) -> bool {
    holder.process.as_deref().is_some_and(process::has_ended)
}

/// Releases registrations. A registration that cannot be released expires after 15 seconds anyway.
pub(super) async fn release_registrations(store: &Store, registrations: &[Registration], presence: &Presence) {
    for registration in registrations {
        if let Err(error) = store.actors().release_post(registration, presence.incarnation.as_deref().unwrap_or_default()).await {
            tracing::debug!(%registration, %error, "a registration could not be released");
        }
    }
}

/// Renews the registrations of a pool's actors every few seconds, as their heartbeat.
pub(super) struct Heartbeat {
    pub(super) store: Store,
    pub(super) registrations: Vec<Registration>,
    pub(super) presence: Presence,
    pub(super) status: Arc<PoolStatus>,
    pub(super) leases: HeldLeases,
    pub(super) mode: watch::Receiver<PoolMode>,
    /// The previous servers of these actors, while they still hold leases.
    pub(super) previous_servers: Option<PreviousServers>,
}

impl Service for Heartbeat {
    type Error = store::Error;

    const NAME: &'static str = "announcing the actors of this process";

    async fn tick(&mut self) -> Result<Duration, store::Error> {
        let running = self.status.running();
        for (actor, registration) in self.registrations.iter().enumerate() {
            self.presence.last_heartbeat = Some(self.store.clock().now());
            self.presence.in_flight = running.get(actor).map(|running| u32::try_from(*running).unwrap_or(u32::MAX));
            self.presence.draining = *self.mode.borrow() == PoolMode::Draining;
            self.presence.confinement = self.status.confinement(actor);
            let held = self.store.actors().claim_post(registration, &self.presence).await?;
            self.status.beat(actor, matches!(held, RegistrationClaim::Claimed));
            if let RegistrationClaim::Taken(holder) = held {
                self.store.actors().note_displaced().await?;
                tracing::error!(%registration, holder = ?holder.hostname, pid = ?holder.pid, "somebody else took the registration of an actor while this process was away");
            }
        }
        if let Some(previous_servers) = &mut self.previous_servers
            && previous_servers.recover(&self.store, &self.registrations).await?
        {
            self.previous_servers = None;
        }
        let script_type = self.registrations.first().map(|registration| registration.script_type.to_string()).unwrap_or_default();
        metrics::gauge!("hero_jobs_running", self.store.labels([("script_type", script_type)])).set(self.leases.len() as f64);
        Ok(HEARTBEAT_INTERVAL)
    }
}
