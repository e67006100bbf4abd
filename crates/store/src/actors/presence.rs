use std::time::Duration;

use redis::Pipeline;

use crate::Error;
use crate::value::Text;
use crate::views::{Actors, Queues};
use hero_model::{Actor, Name, Presence, Priority, Queue, ScriptType, Target};

/// The lifetime of a presence without a heartbeat.
pub const PRESENCE: Duration = Duration::from_secs(15);

/// The longest presence in bytes, as in the function `present` of the library. A longer one, which a foreign program may write, is ignored,
/// but the actor counts as live.
const MAX_PRESENCE_BYTES: usize = 4096;

/// The most bytes of all presences that are kept, because their list is one answer. Actors beyond that are listed as live, without details.
const LONGEST_LIST: usize = 4 << 20;

/// The number of presences read by one pipeline.
const PRESENCES_PER_PIPELINE: usize = 1000;

/// The right to be an actor, which one process at a time holds: its script type, group and instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Registration {
    /// The script type.
    pub script_type: ScriptType,
    /// The group.
    pub group: Name,
    /// The number within the group.
    pub instance: u32,
}

impl std::fmt::Display for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.script_type, self.group, self.instance)
    }
}

/// The result of claiming a registration.
#[derive(Debug, Clone, PartialEq)]
pub enum RegistrationClaim {
    /// The actor has it.
    Claimed,
    /// Another actor has it, with this presence.
    Taken(Box<Presence>),
}

impl Actors<'_> {
    /// Returns every live actor that was seen, in order. If more than 20,000 were seen, some are left out
    /// ([`Health::overfull`](crate::views::Health::overfull) says so).
    pub async fn list(self) -> Result<Vec<Actor>, Error> {
        let mut keys: Vec<String> = self.0.members(&self.0.keys.actors()).await?.into_iter().collect();
        keys.retain(|key| self.0.keys.parse_presence(key).is_some());
        let (mut actors, mut bytes, mut is_cut) = (Vec::new(), 0, false);
        for keys in keys.chunks(PRESENCES_PER_PIPELINE) {
            let mut pipeline = Pipeline::with_capacity(2 * keys.len());
            // A key that is no string counts as a presence without content.
            pipeline.ignore_errors();
            for key in keys {
                pipeline.cmd("EXISTS").arg(key).cmd("GETRANGE").arg(key).arg(0).arg(MAX_PRESENCE_BYTES);
            }
            let mut answers = self.0.commands.each::<Text>(&pipeline).await?.into_iter();
            while let (Some(exists), Some(said)) = (answers.next(), answers.next()) {
                let key = &keys[keys.len() - 1 - answers.len() / 2];
                let lives = self.0.unspoilt_key(key, exists)?.0.is_some_and(|count| count != "0");
                let said = self.0.unspoilt_key(key, said)?.0.unwrap_or_default();
                let Some((script_type, group, instance)) = self.0.keys.parse_presence(key).filter(|_| lives) else { continue };
                // A foreign actor may write any presence. Its existence means that the actor lives.
                let presence = if said.len() > MAX_PRESENCE_BYTES {
                    self.0.tell_spoilt(&Error::spoilt(key.clone(), "it has more than 4 KB, so what the actor says of itself is left out"));
                    Presence::default()
                } else if bytes + said.len() > LONGEST_LIST {
                    is_cut = true;
                    Presence::default()
                } else {
                    bytes += said.len();
                    Presence::read(&said)
                };
                actors.push(Actor { script_type, group, instance, foreign: presence.incarnation.is_none(), unavailable: None, presence });
            }
        }
        if is_cut {
            self.0.tell_spoilt(&Error::spoilt(self.0.keys.actors(), "its actors say more than 4 MB, so what some of them say is left out"));
        }
        actors.sort_by(|a, b| (&a.script_type, &a.group, a.instance).cmp(&(&b.script_type, &b.group, b.instance)));
        Ok(actors)
    }
}

impl Queues<'_> {
    /// Returns the queues of the actors of a pool in the order of service: by priority, then instance, group, type.
    ///
    /// Each with the registration it belongs to (from 1), or 0.
    pub fn of_registrations(self, registrations: &[Registration]) -> Vec<(String, usize)> {
        let Some(first) = registrations.first() else { return Vec::new() };
        let of_registration =
            |(at, registration): (usize, &Registration)| (Target::Instance(registration.group.clone(), registration.instance), at + 1);
        let mut targets: Vec<(Target, usize)> = registrations.iter().enumerate().map(of_registration).collect();
        targets.extend([(Target::Group(first.group.clone()), 0), (Target::Type, 0)]);
        let mut queues = Vec::new();
        for priority in [Priority::Urgent, Priority::Normal, Priority::Low] {
            for (target, registration) in &targets {
                let queue = Queue { script_type: first.script_type.clone(), target: target.clone(), priority };
                queues.push((self.0.keys.work(&queue), *registration));
                if priority == Priority::Normal {
                    queues.push((self.0.keys.work_prio_1(&first.script_type, target), *registration));
                }
            }
        }
        queues
    }
}
