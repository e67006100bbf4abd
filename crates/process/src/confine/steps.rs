//! Notes which steps were taken and which are missing, and reports them.

use std::fmt::Display;

/// Returns the missing steps of a confinement report, each with the reason: `landlock (the kernel does not have it)`.
pub fn left_out(report: &str) -> Vec<&str> {
    parts(report).0.collect()
}

/// Splits a report into the missing steps and the steps in force.
fn parts(report: &str) -> (impl Iterator<Item = &str>, impl Iterator<Item = &str>) {
    let (weak, done) = report.strip_prefix("weak: ").map_or(("", report), |rest| rest.split_once("; ").unwrap_or((rest, "")));
    (weak.split(", ").filter_map(|name| name.strip_prefix("no ")), done.split(','))
}

/// The steps of a child.
#[derive(Default)]
pub(super) struct Steps {
    done: Vec<String>,
    /// Each with the reason.
    missing: Vec<String>,
    /// True if stderr belongs to somebody else: the log of a job.
    silent: bool,
}

impl Steps {
    /// Starts without any step.
    pub(super) fn new(silent: bool) -> Self {
        Self { silent, ..Self::default() }
    }

    /// Notes a step that was tried.
    pub(super) fn take<E: Display>(&mut self, name: &str, result: Result<(), E>) {
        match result {
            Ok(()) => self.done(name),
            Err(error) => self.miss(name, &error),
        }
    }

    pub(super) fn done(&mut self, name: impl Into<String>) {
        self.done.push(name.into());
    }

    #[expect(clippy::disallowed_macros, reason = "a child says why it failed to its parent, which shows it harmless")]
    pub(super) fn miss(&mut self, name: &str, why: &dyn Display) {
        let why = plain(&why.to_string());
        self.missing.push(format!("{name} ({why})"));
        if !self.silent {
            eprintln!("hero exec: without {name}: {why}");
        }
    }

    /// Copies from the parent's report the steps that also hold for its children.
    pub(super) fn inherit(&mut self, report: &str, of: impl Fn(&str) -> bool) {
        let (missing, done) = parts(report);
        let name = |missing: &&str| of(missing.split(" (").next().unwrap_or_default());
        self.missing.extend(missing.filter(name).map(ToOwned::to_owned));
        self.done.extend(done.filter(|step| of(step)).map(ToOwned::to_owned));
    }

    /// Whether a step is in force.
    pub(super) fn has(&self, name: &str) -> bool {
        self.done.iter().any(|done| done == name)
    }

    /// Returns the report that the program finds in its variable.
    pub(super) fn report(&self) -> String {
        let missing: Vec<String> = self.missing.iter().map(|name| format!("no {name}")).collect();
        let weak = if missing.is_empty() { String::new() } else { format!("weak: {}; ", missing.join(", ")) };
        format!("{weak}{}", self.done.join(","))
    }
}

/// Returns a reason without the separators of a report.
fn plain(why: &str) -> String {
    let why = why.split_once(" (os error").map_or(why, |(why, _)| why);
    why.chars().map(|c| if matches!(c, ',' | ';' | '(' | ')') || c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_with_its_reason() {
        let mut steps = Steps::new(true);
        steps.take("umask", Ok::<_, String>(()));
        steps.done("landlock:2");
        assert_eq!(left_out(&steps.report()), Vec::<&str>::new());
        steps.miss("seccomp", &std::io::Error::from_raw_os_error(1));
        steps.miss("TCP rules", &"a; b, (c)");
        assert_eq!(left_out(&steps.report()), ["seccomp (Operation not permitted)", "TCP rules (a  b   c )"]);
        assert!(steps.report().ends_with("; umask,landlock:2"), "{}", steps.report());
        assert_eq!(left_out("umask,landlock:7"), Vec::<&str>::new());
    }

    #[test]
    fn what_its_parent_lives_in_holds_for_a_child() {
        let (mut parent, mut child) = (Steps::new(true), Steps::new(true));
        parent.done("network namespace");
        parent.done("umask");
        parent.miss("PID namespace", &"not allowed");
        child.inherit(&parent.report(), |step| step.ends_with(" namespace"));
        assert_eq!(child.report(), "weak: no PID namespace (not allowed); network namespace");
        assert!(child.has("network namespace") && !child.has("umask"));
    }
}
