use std::sync::Arc;

use crate::Inner;
use crate::library::fcall::Function;
use crate::relations::staged_group::StagedGroup;
use crate::value::Text;
use hero_model::JobId;

const FUNCTION: Function = Function("unstage_jobs");

/// A group that is being staged. If it is dropped because the caller has gone, it is removed.
pub(super) struct Staging {
    store: Arc<Inner>,
    group: JobId,
    many: usize,
    is_left: bool,
}

impl Staging {
    pub(super) fn of(store: &Arc<Inner>, group: &StagedGroup<'_>) -> Self {
        Self { store: Arc::clone(store), group: group.id.clone(), many: group.jobs.len(), is_left: true }
    }

    /// Ends the staging, and removes the staged jobs if asked to.
    pub(super) async fn end(mut self, is_taken_away: bool) {
        if is_taken_away {
            self.store.unstage(&self.group, self.many).await;
        }
        self.is_left = false;
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // If this process is ending, the releaser of another one removes the group.
        if self.is_left
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (store, group, many) = (Arc::clone(&self.store), self.group.clone(), self.many);
            runtime.spawn(async move { store.unstage(&group, many).await });
        }
    }
}

impl Inner {
    /// Removes the staged jobs of a group, as far as that is possible now. The releaser removes the rest.
    async fn unstage(&self, group: &JobId, many: usize) {
        let mut left = many;
        while left > 0 {
            let mut call = self.call(&FUNCTION);
            call.arg(group.as_str()).arg(left);
            let Ok(answer) = self.commands.function::<Vec<Text>>(&call).await else { return };
            self.wake_ups.wake_all(answer.iter().skip(1).filter_map(|text| text.0.as_ref()));
            left = answer.first().and_then(Text::parse).unwrap_or(0);
        }
    }
}
