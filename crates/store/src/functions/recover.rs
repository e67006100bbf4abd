use std::collections::BTreeSet;

use redis::Pipeline;

use super::unexpected;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::{Actors, Queues};
use crate::{Error, Registration};

const FUNCTION: Function = Function("recover");

/// The approximate number of leases that one call checks.
const LEASES_PER_CALL: usize = 256;

/// The findings about earlier incarnations of actors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The number of ended leases of dead servers.
    pub ended: usize,
    /// Other servers that hold jobs in the name of these actors and give signs of life.
    pub live: BTreeSet<String>,
    /// Such servers without signs of life. They may be dead, or only away.
    pub silent: BTreeSet<String>,
}

impl Queues<'_> {
    /// Ends the leases of servers that are known to be dead: within a second the reaper runs each of their jobs again, and counts a crash.
    /// Also finds other servers that hold jobs in the name of these registrations.
    pub async fn recover(self, registrations: &[Registration], dead: &BTreeSet<String>) -> Result<Recovered, Error> {
        let (mut recovered, mut others, mut from) = (Recovered::default(), BTreeSet::new(), 0_u64);
        loop {
            let mut call = self.0.call(&FUNCTION);
            call.arg(from).arg(LEASES_PER_CALL).arg(registrations.len());
            for registration in registrations {
                call.arg(registration.to_string());
            }
            call.arg(dead);
            let answer: Vec<Text> = self.0.fetches.function(&call).await?;
            let [next, ended, owners @ ..] = &*answer else { return Err(unexpected("recover", &answer)) };
            recovered.ended += ended.parse().unwrap_or(0);
            others.extend(owners.iter().filter_map(|owner| owner.0.clone()));
            from = next.parse().ok_or_else(|| unexpected("recover", &answer))?;
            if from == 0 {
                break;
            }
        }
        if !others.is_empty() {
            (recovered.live, recovered.silent) = self.live_and_silent(others).await?;
        }
        Ok(recovered)
    }

    /// Splits these servers into those that give a sign of life, by a presence or as displaced ones, and those that do not.
    async fn live_and_silent(self, servers: BTreeSet<String>) -> Result<(BTreeSet<String>, BTreeSet<String>), Error> {
        let mut pipeline = Pipeline::with_capacity(servers.len());
        for server in &servers {
            pipeline.cmd("EXISTS").arg(self.0.keys.displaced(server));
        }
        let displaced: Vec<bool> = self.0.commands.pipeline(&pipeline).await?;
        let mut live: BTreeSet<String> =
            servers.iter().zip(displaced).filter(|(_, lives)| *lives).map(|(server, _)| server.clone()).collect();
        live.extend(Actors(self.0).list().await?.into_iter().filter_map(|actor| actor.presence.incarnation));
        Ok(servers.into_iter().partition(|server| live.contains(server)))
    }
}
