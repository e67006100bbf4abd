use super::Keys;
use hero_model::{JobId, Name, ScriptType};

/// Keys of other layouts. The layouts define their names; hero adds a prefix where several contexts share a database.
impl Keys {
    /// The legacy queue of a worker.
    pub fn work_queue(&self, worker: &str) -> String {
        self.key(format_args!("work_queue:{worker}"))
    }

    /// The legacy queue of a script type's actors.
    pub fn actor_queue(&self, suffix: &str) -> String {
        self.key(format_args!("job:actor_queue:{suffix}"))
    }

    /// The legacy queue of an actor, a list among the hashes of jobs.
    pub fn actor_list(&self, actor: &Name) -> String {
        self.key(format_args!("job:{actor}"))
    }

    /// The legacy stop requests for a worker.
    pub fn stop_queue(&self, worker: &Name) -> String {
        self.key(format_args!("stop_queue:{worker}"))
    }

    /// The legacy name of a job's reply.
    pub fn legacy_reply(&self, id: &JobId) -> String {
        self.key(format_args!("reply:{id}"))
    }

    /// The tasks of a rhailib circle.
    pub fn rhai_tasks(&self, circle: &Name) -> String {
        format!("{}rhai_tasks:{circle}", self.prefix())
    }

    /// The details of a rhailib task.
    pub(crate) fn rhai_task(&self, id: &str) -> String {
        format!("{}rhai_task_details:{id}", self.prefix())
    }

    /// The list to which a rhailib worker pushes the reply to one task.
    pub fn rhai_reply(&self, id: &JobId) -> String {
        format!("{}rhai_reply:{id}", self.prefix())
    }

    /// The jobs of a runner of the coordinator.
    pub fn runner_queue(&self, script_type: &ScriptType) -> String {
        format!("{}queue:{script_type}", self.prefix())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hero_model::ContextId;

    #[test]
    fn keys_of_other_layouts_are_those_of_their_documents() {
        let (keys, name) = (Keys::standalone(ContextId(0)), "osis".parse::<Name>().unwrap());
        assert_eq!(keys.work_queue(name.as_str()), "hero:work_queue:osis");
        assert_eq!(keys.actor_queue("osis"), "hero:job:actor_queue:osis");
        assert_eq!(keys.actor_list(&name), "hero:job:osis");
        assert_eq!(keys.stop_queue(&name), "hero:stop_queue:osis");
        assert_eq!(keys.rhai_tasks(&name), "rhai_tasks:osis");
        assert_eq!(keys.rhai_task("t"), "rhai_task_details:t");
        assert_eq!(keys.runner_queue(&ScriptType::osis()), "queue:osis");
        assert_eq!(Keys::clustered(ContextId(7)).rhai_tasks(&name), "{ctx:7}:rhai_tasks:osis");
    }
}
