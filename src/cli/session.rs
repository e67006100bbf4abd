use clap::Args;

use crate::client::Client;

/// What every command takes.
#[derive(Debug, Args)]
pub(super) struct Global {
    /// The server to talk to [default: ws://127.0.0.1:8700]
    #[arg(long, global = true, env = "HERO_SERVER", hide_env_values = true, value_name = "URL", help_heading = "Global options")]
    server: Option<String>,
    /// Answer in JSON: one document, or one a line where answers keep coming
    #[arg(long, global = true, help_heading = "Global options")]
    pub(super) json: bool,
}

/// Where `hero serve` listens by default.
const DEFAULT_SERVER: &str = "ws://127.0.0.1:8700";

impl Global {
    /// The server that was named, if one was; an empty name counts as none.
    pub(super) fn named_server(&self) -> Option<&str> {
        self.server.as_deref().filter(|server| !server.is_empty())
    }

    /// Connects to the server, with the token of `HERO_TOKEN` if there is one.
    pub(super) async fn connect(&self) -> anyhow::Result<Client> {
        let token = std::env::var("HERO_TOKEN").ok().filter(|token| !token.is_empty());
        Ok(Client::connect(self.named_server().unwrap_or(DEFAULT_SERVER), token.as_deref()).await?)
    }
}
