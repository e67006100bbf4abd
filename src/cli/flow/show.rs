use super::FlowArgs;
use super::list::status;
use super::tree::lines;
use crate::cli::global::Global;
use crate::cli::output::table::ago;
use crate::cli::output::{self, Line, Style};

/// Prints a flow with its jobs as a tree, and their outputs.
pub(super) async fn main(global: &Global, named: &FlowArgs) -> anyhow::Result<()> {
    let (context, flow) = named.of();
    let flow = global.connect().await?.get_flow(context, flow).await?;
    if global.json {
        return output::json(&flow);
    }
    let style = Style::stdout();
    let field = |name: &str, value: Line| output::line(Line::from(format!("{name:<14} ")) + value);
    field("flow", flow.flow_id.to_string().into())?;
    field("status", status(style, flow.status, flow.stop_requested))?;
    if let Some(name) = &flow.name {
        field("name", name.into())?;
    }
    field("caller", flow.caller_id.as_str().into())?;
    field("context", flow.context_id.to_string().into())?;
    field("on failure", flow.on_failure.as_str().into())?;
    field("created", ago(Some(flow.created_at)).into())?;
    if let (Some(started), Some(finished)) = (flow.started_at, flow.finished_at) {
        field("took", format!("{:.2} s", finished.since(started).as_secs_f64()).into())?;
    }
    if !flow.env_vars.is_empty() {
        field("env_vars", flow.env_vars.keys().map(String::as_str).collect::<Vec<_>>().join(", ").into())?;
    }
    output::line(style.bold("jobs"))?;
    lines(style, &flow.jobs, |job| Some(job.job_id.to_string())).into_iter().try_for_each(|line| output::line(Line::from("  ") + line))?;
    if !flow.result.is_empty() {
        output::line(style.bold("result"))?;
    }
    for (name, output) in &flow.result {
        output::line(Line::from(format!("  {name}: ")) + Line::from(output.lines().next().unwrap_or_default()))?;
        output.lines().skip(1).try_for_each(|line| output::line(Line::from("    ") + line))?;
    }
    if flow.truncated {
        output::note(style.dim("some outputs are too long for this list; hero job show prints each"));
    }
    Ok(())
}
