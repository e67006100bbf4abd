use std::io::{self, IsTerminal as _, Write};

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

use super::settings::{LogFormat, Resolved};
use crate::model::{escaped, harmless};

/// Starts the log of this process on stderr, and logs the warnings about the settings.
#[expect(clippy::disallowed_methods, reason = "events are made harmless by `Lines`")]
pub(crate) fn start(resolved: &Resolved) -> anyhow::Result<()> {
    let settings = &resolved.settings;
    // The MCP library logs at `info` everything that each client sends.
    let filter =
        EnvFilter::try_new(format!("rmcp=error,{}", settings.log_level)).with_context(|| format!("log_level {:?}", settings.log_level))?;
    let how = match settings.log_format {
        LogFormat::Json => How::Json,
        LogFormat::Pretty if io::stderr().is_terminal() => How::Coloured,
        LogFormat::Pretty => How::Plain,
    };
    let builder =
        tracing_subscriber::fmt().log_internal_errors(false).with_env_filter(filter).with_writer(move || Lines { out: io::stderr(), how });
    match how {
        How::Json => builder.json().flatten_event(true).init(),
        How::Coloured | How::Plain => builder.with_ansi(how == How::Coloured).with_target(false).init(),
    }
    for warning in &resolved.warnings {
        tracing::warn!("{warning}");
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Json,
    Plain,
    /// Lines with the colours of the log itself. Escape sequences in logged texts are escaped.
    Coloured,
}

/// Writes events. No text in an event can look like another line or control a terminal. Each event is written at once, with its line end.
struct Lines<W> {
    out: W,
    how: How,
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let shown = match self.how {
            How::Json => escaped(line.to_owned()),
            How::Plain => harmless(line).into_owned(),
            How::Coloured => line.split('\x1b').map(harmless).collect::<Vec<_>>().join("\x1b"),
        };
        // If the log cannot be written, the text is lost and work continues. A panic would reach the code that logs.
        let _ = self.out.write_all(format!("{shown}\n").as_bytes());
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.out.flush();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let written = |how, event: &str| {
            let mut lines = Lines { out: Vec::new(), how };
            lines.write_all(event.as_bytes()).unwrap();
            String::from_utf8(lines.out).unwrap()
        };
        assert_eq!(written(How::Plain, "a\nb\x1b[2J\u{9b}\u{202e}c\n"), "a\\nb\\u{1b}[2J\\u{9b}\\u{202e}c\n");
        assert_eq!(written(How::Coloured, "\x1b[2ma\x1b[0m\nb\u{202e}\n"), "\x1b[2ma\x1b[0m\\nb\\u{202e}\n");
        assert_eq!(written(How::Json, "{\"a\":\"\\n\u{9b}\"}\n"), "{\"a\":\"\\n\\u009b\"}\n");
    }
}
