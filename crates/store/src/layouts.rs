use crate::keys::Keys;
use crate::views::Queues;
use hero_model::{ContextId, Name, Priority, Queue, ScriptType, Target};

/// Which other layouts a pool serves: it takes from their queues, too, after its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layouts {
    /// The legacy workers it stands for: their work queues and their stop queues.
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

    /// No layout but our own.
    pub fn none() -> Self {
        Self::default()
    }

    /// The name that a script type is by default in other layouts.
    pub fn name(script_type: &ScriptType) -> Name {
        script_type.as_str().parse().expect("a script type is a name")
    }
}

/// Which queues new jobs go to. It is noted in each job, so that its retries go where its first attempt went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Push {
    /// Ours alone.
    #[default]
    Canonical,
    /// Ours, and a legacy queue, the *shadow* of ours: `hero:work_queue:{worker_id}` where a worker was named, else
    /// `hero:job:actor_queue:{script_type}`. Whoever takes a job first has it.
    ///
    /// A job that starts with an actor of this process in the call that stores it is in no queue at all. A job for a group or an
    /// instance has a shadow only if it names a worker.
    Both,
    /// The shadow alone, for workers that know only legacy queues: `hero:work_queue:{worker_id}`. Where no worker was named, the
    /// script type is its name, and the job's hash says so.
    Legacy,
}

/// Where an actor of another layout would look for jobs and for requests to stop them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LayoutQueues {
    /// Each with its layout.
    pub(super) queues: Vec<(&'static str, String)>,
    /// Requests to stop jobs.
    pub(super) stops: Vec<String>,
}

impl LayoutQueues {
    /// The queues alone.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.queues.iter().map(|(_, key)| key)
    }

    /// The queues with requests to stop jobs.
    pub fn stops(&self) -> &[String] {
        &self.stops
    }
}

/// The keys of the queues from which a pool takes jobs in any context of a Redis that is no cluster, but for those of instances.
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
    /// The queues of other layouts for a pool of a type.
    pub fn of_layouts(self, script_type: &ScriptType, layouts: &Layouts) -> LayoutQueues {
        let keys = &self.0.keys;
        LayoutQueues {
            queues: queues(keys, script_type, layouts),
            stops: layouts.worker_ids.iter().map(|worker| keys.stop_queue(worker)).collect(),
        }
    }
}
