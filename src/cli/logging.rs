use std::io::IsTerminal as _;

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

use super::settings::{LogFormat, Settings};

/// Sends what this process has to say about itself to stderr.
pub(super) fn start(settings: &Settings) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&settings.log_level).with_context(|| format!("log_level {:?}", settings.log_level))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match settings.log_format {
        LogFormat::Json => builder.json().flatten_event(true).init(),
        LogFormat::Pretty => builder.with_ansi(std::io::stderr().is_terminal()).with_target(false).init(),
    }
    Ok(())
}
