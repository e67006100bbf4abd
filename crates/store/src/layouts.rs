//! The layouts of other programs in one Redis.

pub(crate) mod conveyor;
pub(crate) mod rhailib;

use crate::keys::Keys;
use crate::views::Queues;
use hero_model::{ContextId, Name, Priority, Queue, ScriptType, Target};

/// The other layouts that a pool serves. It takes from their queues after its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layouts {
    /// The legacy workers that it replaces, with their work queues and their stop queues.
    pub worker_ids: Vec<Name>,
    /// The rhailib circles whose tasks it takes.
    pub circles: Vec<Name>,
    /// Whether it takes the jobs of the coordinator's runners of its type.
    pub runner: bool,
}

impl Layouts {
    /// Every layout, with the script type as the name of worker and circle.
    pub fn all(script_type: &ScriptType) -> Self {
        let name = vec![Self::name(script_type)];
        Self { worker_ids: name.clone(), circles: name, runner: true }
    }

    /// Only hero's own layout.
    pub fn none() -> Self {
        Self::default()
    }

    /// The default name of a script type in other layouts.
    pub fn name(script_type: &ScriptType) -> Name {
        script_type.as_str().parse().expect("a script type is a name")
    }
}

/// The queues for new jobs. The choice is stored in each job, so that retries go to the same queues as the first attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Push {
    /// Only hero's own queue.
    #[default]
    Canonical,
    /// hero's own queue and a legacy queue, its *shadow*: `hero:work_queue:{worker_id}` if a worker was named, else
    /// `hero:job:actor_queue:{script_type}`. The first worker that takes a job has it.
    ///
    /// A direct start is in no queue at all. A job for a group or an instance has a shadow only if it names a worker.
    Both,
    /// Only the shadow, for workers that know only legacy queues: `hero:work_queue:{worker_id}`. If no worker was named, the script type is
    /// its name, and the job's hash says so.
    Legacy,
}

/// The queues where an actor of another layout would look for jobs, and for requests to stop them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LayoutQueues {
    /// The queues, each with its layout.
    pub(super) queues: Vec<(&'static str, String)>,
    /// The queues of stop requests.
    pub(super) stops: Vec<String>,
}

impl LayoutQueues {
    /// Returns the keys of the job queues.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.queues.iter().map(|(_, key)| key)
    }

    /// Returns the queues of stop requests.
    pub fn stops(&self) -> &[String] {
        &self.stops
    }
}

/// Returns the keys of the queues from which a pool takes jobs, in any context of a Redis that is no cluster, without the queues of
/// instances.
pub fn queues_of_pool(
    script_type: &ScriptType,
    group: &Name,
    layouts: &Layouts,
    namespace: Option<&Name>,
    conveyor: &[Name],
) -> Vec<String> {
    let keys = Keys::standalone(ContextId(0));
    let own = [Target::Type, Target::Group(group.clone())].into_iter().flat_map(|target| {
        let queue = |priority| Queue { script_type: script_type.clone(), target: target.clone(), priority };
        let all = [Priority::Urgent, Priority::Normal, Priority::Low].map(|priority| keys.work(&queue(priority)));
        all.into_iter().chain([keys.work_prio_1(script_type, &target)]).collect::<Vec<_>>()
    });
    let others = queues(&keys, script_type, layouts).into_iter().map(|(_, key)| key);
    own.chain(others).chain(conveyor.iter().map(|queue| keys.conveyor(namespace).queue(queue.as_str()))).collect()
}

fn queues(keys: &Keys, script_type: &ScriptType, layouts: &Layouts) -> Vec<(&'static str, String)> {
    let legacy = layouts.worker_ids.iter().flat_map(|worker| {
        [keys.work_queue(worker.as_str()), keys.actor_queue(worker.as_str()), keys.actor_list(worker)].map(|key| ("legacy", key))
    });
    let rhailib = layouts.circles.iter().map(|circle| ("rhailib", keys.rhai_tasks(circle)));
    let runner = layouts.runner.then(|| ("runner", keys.runner_queue(script_type)));
    legacy.chain(rhailib).chain(runner).collect()
}

impl Queues<'_> {
    /// Returns the queues of other layouts for a pool of a type.
    pub fn of_layouts(self, script_type: &ScriptType, layouts: &Layouts) -> LayoutQueues {
        let keys = &self.0.keys;
        LayoutQueues {
            queues: queues(keys, script_type, layouts),
            stops: layouts.worker_ids.iter().map(|worker| keys.stop_queue(worker)).collect(),
        }
    }
}
