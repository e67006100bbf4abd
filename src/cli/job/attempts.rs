use crate::cli::output::Line;
use crate::model::Attempt;

/// Returns one line per attempt: its number, its times, its actor, and its error.
pub(super) fn lines(attempts: &[Attempt]) -> Vec<Line> {
    attempts.iter().map(|attempt| Line::from(line(attempt))).collect()
}

fn line(attempt: &Attempt) -> String {
    let Attempt { attempt: number, actor, started_at, ended_at, error, usage } = attempt;
    let mut line = format!("{number}");
    if let Some(actor) = actor {
        line.push_str(&format!("  {actor}"));
    }
    if let Some(started_at) = started_at {
        line.push_str(&format!("  {started_at}"));
    }
    line.push_str(&ended_at.map_or_else(|| "  runs".to_owned(), |ended_at| format!(" to {ended_at}")));
    if let Some(usage) = usage {
        line.push_str(&format!("  {} ms", usage.run_ms));
    }
    if let Some(error) = error {
        let place = match (error.line, error.column) {
            (Some(line), Some(column)) => format!("{line}:{column}: "),
            (Some(line), None) => format!("{line}: "),
            _ => String::new(),
        };
        line.push_str(&format!("  {place}{}: {}", error.kind.as_str(), error.message));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ErrorKind, JobError};

    #[test]
    fn an_attempt_is_a_line_with_the_place_of_its_error() {
        let error = JobError { line: Some(3), column: Some(7), ..JobError::new(ErrorKind::Script, "no") };
        let time = |millis| Some(crate::model::Timestamp::from_millis(millis));
        let failed = Attempt {
            attempt: 2,
            actor: Some("osis:default:1".into()),
            started_at: time(0),
            ended_at: time(1500),
            error: Some(error),
            usage: None,
        };
        assert_eq!(line(&failed), "2  osis:default:1  1970-01-01T00:00:00.000Z to 1970-01-01T00:00:01.500Z  3:7: script: no");
        let runs = Attempt { attempt: 3, actor: None, started_at: time(0), ended_at: None, error: None, usage: None };
        assert_eq!(line(&runs), "3  1970-01-01T00:00:00.000Z  runs");
    }
}
