use clap::Args;
use clap_complete::Shell;

use super::exit::Exit;

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
        std::io::Write::write_all(&mut std::io::stdout(), &script)?;
        Ok(Exit::Ok)
    }
}
