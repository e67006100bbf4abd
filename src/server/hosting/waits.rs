//! Explains jobs that wait because contexts and local runners take turns.

use std::time::Instant;

use super::opening::wait_before;
use super::{Hosting, Pools};
use crate::model::{ContextId, Queue, RunnerId, Target};

impl Hosting {
    /// Makes the dispatcher explain jobs that wait for a turn.
    pub(crate) fn explain_waits(&self) {
        let hosting = self.clone();
        self.0.dispatcher.explain_waits(Box::new(move |context, queue| hosting.why_it_waits(context, queue)));
    }

    /// Returns the reason why the actors of this process will take jobs from a queue only later: their context or
    /// runner waits for its turn.
    fn why_it_waits(&self, context: ContextId, queue: &Queue) -> Option<String> {
        let most = self.0.settings.contexts_running;
        let group = queue.target.group();
        if let Some(runner) = group.and_then(RunnerId::of_group) {
            let before = self.0.runner_permits.before((context, runner))?;
            return Some(format!(
                "runner {runner} of context {context} waits for its turn: {most} local runners have actors at once (contexts_running), and {before} wait before it"
            ));
        }
        let settings = &self.0.settings;
        let is_its = |pool: &crate::server::settings::PoolSettings| {
            let is_of_group = matches!(queue.target, Target::Type) || group == Some(&pool.group);
            pool.script_type == queue.script_type && is_of_group && pool.serves(context, settings)
        };
        if !settings.pools.iter().any(is_its) {
            return None;
        }
        let all = self.hosted();
        let hosted = all.get(&context)?;
        let waits = hosted.waits_since.is_some_and(|since| since <= Instant::now());
        let turn = match &hosted.pools {
            Pools::None | Pools::Ending(_) if waits => format!("waits for its turn, and {} wait before it", wait_before(&all, context)),
            Pools::Starting => "has its turn, and its actors are just starting".to_owned(),
            Pools::Running(running) if running.is_paused => {
                "has had its turn, takes no more jobs while others wait, and has another one soon".to_owned()
            }
            _ => return None,
        };
        Some(format!("context {context} {turn}: {most} contexts have actors of this server at once (contexts_running)"))
    }
}
