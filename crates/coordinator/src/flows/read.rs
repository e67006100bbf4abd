use super::mermaid::to_mermaid;
use super::{Error, Flows, drive};
use hero_jobs::dispatch;
use hero_model::{ContextId, Flow, FlowId, FlowPage, shown};
use hero_service::away;
use hero_store::{self as store, FlowAction, Score, StoredFlow};

impl Flows {
    /// Returns a flow with all details.
    pub async fn get(&self, context: ContextId, flow: FlowId) -> Result<Flow, Error> {
        let store = self.store(context).await?;
        let stored = store.flows().get(flow).await?.ok_or(Error::NotFound(flow))?;
        let jobs = store.flows().jobs(&stored).await?;
        let StoredFlow { summary, on_failure, env_vars, result, left_out, updated_at, .. } = stored;
        let bytes = env_vars.values().map(String::len).sum();
        let env_vars = away(bytes, move || shown(env_vars)).await.ok_or(store::Error::Closed)?;
        Ok(Flow {
            flow_id: flow,
            status: summary.status,
            name: summary.name,
            context_id: context,
            caller_id: summary.caller_id,
            on_failure,
            env_vars,
            stop_requested: summary.stop_requested,
            created_at: summary.created_at,
            updated_at,
            started_at: summary.started_at,
            finished_at: summary.finished_at,
            graph: to_mermaid(&jobs),
            jobs,
            result,
            truncated: left_out,
        })
    }

    /// Returns flows, the newest first: all, or those of one caller. A page may be short, or empty, before the last
    /// one.
    pub async fn list(&self, context: ContextId, caller: Option<&str>, cursor: Option<&str>, limit: usize) -> Result<FlowPage, Error> {
        let store = self.store(context).await?;
        let before = match cursor {
            Some(cursor) => cursor.parse().map_err(|()| dispatch::Error::bad_page_cursor())?,
            None => Score::HIGHEST,
        };
        let (flows, gone, next) = store.flows().before(before, limit).await?;
        for flow in gone {
            // Removes the entry of a flow whose retention has ended. A flow that is being created or deleted keeps its
            // entry.
            drive(&store, flow, FlowAction::Continue).await?;
        }
        let flows = flows.into_iter().filter(|flow| caller.is_none_or(|caller| flow.caller_id == caller));
        Ok(FlowPage { flows: flows.collect(), next_cursor: next.map(|score| score.to_string()) })
    }
}
