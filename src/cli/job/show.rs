use super::{JobArgs, attempts};
use crate::cli::error::script_error;
use crate::cli::global::Global;
use crate::cli::input::spec::field_text;
use crate::cli::output::{self, Line, Style};
use crate::model::tree;

/// Prints all details of a job: one line per field, then the texts.
pub(super) async fn main(global: &Global, named: &JobArgs) -> anyhow::Result<()> {
    let job = global.connect().await?.get_job(named.context(), &named.job_id).await?;
    if global.json {
        return output::json(&job);
    }
    let style = Style::stdout();
    let fields = tree(&serde_json::to_string(&job)?)?;
    let long = ["script", "output", "error", "status", "attempts"];
    output::line(Line::from(format!("{:<18} ", "status")) + style.status(job.status, job.error.as_ref().map(|error| error.kind)))?;
    for (name, value) in fields.as_object().into_iter().flatten().filter(|(name, _)| !long.contains(&name.as_str())) {
        output::paragraph(format!("{name:<18} {}", field_text(name, value, job.priority)?), 19)?;
    }
    let plain = |text: &str| text.lines().map(Line::from).collect::<Vec<_>>();
    if job.attempts.len() > 1 {
        section(style, "attempts", attempts::lines(&job.attempts))?;
    }
    section(style, "script", plain(&job.script))?;
    if let Some(text) = job.output.as_deref().filter(|text| !text.is_empty()) {
        section(style, "output", plain(text))?;
    }
    if let Some(error) = &job.error {
        section(style, "error", script_error::render(style, job.name.as_deref().unwrap_or("script"), &job.script, job.timeout, error))?;
    }
    Ok(())
}

fn section(style: Style, name: &str, lines: Vec<Line>) -> anyhow::Result<()> {
    output::line(style.bold(name))?;
    lines.into_iter().try_for_each(|line| output::line(Line::from("  ") + line))
}
