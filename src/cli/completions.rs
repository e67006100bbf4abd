use clap::Args;
use clap_complete::Shell;

use super::exit::Exit;
use super::output;

/// For which shell.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn main(&self, command: &mut clap::Command) -> anyhow::Result<Exit> {
        let mut script = Vec::new(); // Written at once: the generator panics when a pipe closes.
        clap_complete::generate(self.shell, command, "hero", &mut script);
        output::document(&String::from_utf8(script)?)?;
        Ok(Exit::Ok)
    }
}
