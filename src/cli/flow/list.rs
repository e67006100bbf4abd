use crate::cli::global::Global;
use crate::cli::input::paging::{OfCaller, note_more};
use crate::cli::output::table::{Fit, Table, ago, cell, cells};
use crate::cli::output::{self, Line, Style};
use crate::model::{FlowPage, FlowStatus, FlowSummary};

/// Lists flows.
pub(super) async fn main(global: &Global, of: &OfCaller) -> anyhow::Result<()> {
    let client = global.connect().await?;
    let page = async |context, caller: Option<&str>, cursor: Option<&str>, wanted| {
        let page = client.list_flows(context, caller, cursor, wanted).await?;
        Ok((page.flows, page.next_cursor))
    };
    let (flows, next_cursor) = of.collect(&client, page).await?;
    let found = FlowPage { flows, next_cursor };
    if global.json { output::json(&found) } else { print(&found) }
}

const HEAD: [(&str, Fit); 6] = [
    ("FLOW", Fit::Keep),
    ("STATUS", Fit::Keep),
    ("JOBS", Fit::Keep),
    ("CALLER", Fit::Spare(9)),
    ("CREATED", Fit::Keep),
    ("NAME", Fit::Cut),
];

fn print(page: &FlowPage) -> anyhow::Result<()> {
    let style = Style::stdout();
    let mut table = Table::new(style, &HEAD);
    for flow in &page.flows {
        table.row(cells![
            flow.flow_id.to_string(),
            status(style, flow.status, flow.stop_requested),
            jobs(flow),
            cell(&flow.caller_id),
            ago(Some(flow.created_at)),
            flow.name.as_deref().map_or_else(|| style.dim("-"), cell),
        ]);
    }
    table.print()?;
    note_more(page.next_cursor.as_deref());
    Ok(())
}

/// Formats the number of ended jobs, and of all jobs.
fn jobs(flow: &FlowSummary) -> String {
    let ended = flow.jobs.saturating_sub(flow.open);
    match flow.failed {
        0 => format!("{ended}/{}", flow.jobs),
        // The list does not tell which of them failed, and which never ran because of those.
        left => format!("{} of {} finished", ended.saturating_sub(left), flow.jobs),
    }
}

/// Formats the status of a flow. A stopped flow is shown as such; the API has a separate field for it.
pub(super) fn status(style: Style, status: FlowStatus, stopped: bool) -> Line {
    match status {
        FlowStatus::Error if stopped => style.yellow("stopped"),
        FlowStatus::Finished => style.green(status.as_str()),
        FlowStatus::Started => style.bold(status.as_str()),
        FlowStatus::Error => style.red("failed"),
        FlowStatus::Dispatched | FlowStatus::WaitingForPrerequisites => status.as_str().into(),
    }
}
