use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::output;
use super::serve::environment;
use crate::client::{self, Client, Options, Reconnect, Trust};
use crate::server::run::OPERATOR_SOCKET;
use crate::server::settings::{default_data, misspelt_of_commands};

/// What every command takes.
#[derive(Debug, Args)]
pub(super) struct Global {
    /// The server to talk to [default: ws://127.0.0.1:8700] [env: HERO_SERVER]
    #[arg(long, global = true, value_name = "URL", help_heading = "Global options")]
    server: Option<String>,
    /// The authority (PEM) of the certificate of a wss:// server [default: those that this machine knows] [env: HERO_CA]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    ca: Option<PathBuf>,
    /// Answer in JSON: one document, or one a line where answers keep coming
    #[arg(long, global = true, help_heading = "Global options")]
    pub(super) json: bool,
}

/// How long to look for a server that went away.
pub(super) const RECONNECT: Duration = Duration::from_secs(30);

/// Where `hero serve` listens by default.
const DEFAULT_SERVER: &str = "ws://127.0.0.1:8700";

impl Global {
    /// The server that was named, if one was; an empty name counts as none.
    pub(super) fn named_server(&self) -> Option<String> {
        // The variable is read here and not by clap, whose usage would show it as an argument that was given.
        self.server.clone().or_else(|| std::env::var("HERO_SERVER").ok()).filter(|server| !server.is_empty())
    }

    /// The options of a command that is given only a server, or nothing.
    pub(super) const fn at(server: Option<String>) -> Self {
        Self { server, ca: None, json: false }
    }

    /// Whose word is taken for who the server is; an empty name counts as none.
    pub(super) fn trust(&self) -> Trust {
        let file = self.ca.clone().or_else(|| std::env::var_os("HERO_CA").map(PathBuf::from));
        Trust::of(file.filter(|file| !file.as_os_str().is_empty()).as_deref())
    }

    /// The server to talk to.
    pub(super) fn address(&self) -> String {
        self.named_server().unwrap_or_else(|| DEFAULT_SERVER.to_owned())
    }

    /// Connects to the server that was named; where none was, to the socket of the operator in the data directory of this user, if there is one.
    pub(super) async fn connect_as_operator(&self) -> anyhow::Result<Client> {
        let environment = environment();
        let data = environment.get("HERO_DATA").map(PathBuf::from).or_else(|| default_data(&environment));
        let socket = data.map(|data| data.join(OPERATOR_SOCKET)).filter(|socket| socket.exists());
        match socket {
            Some(socket) if self.named_server().is_none() && !has_token() => {
                match Client::connect(&format!("unix://{}", socket.display()), None).await {
                    // A server that was killed has left it.
                    Err(client::Error::Unreachable { .. }) => self.connect().await,
                    connected => Ok(connected?),
                }
            }
            _ => self.connect().await,
        }
    }

    /// Warns of environment variables that look as if they were for a command that talks to a server.
    pub(super) fn warn_of_misspelt_variables(&self) {
        for warning in misspelt_of_commands(&environment()) {
            if self.json {
                output::note_json(&json!({ "warning": warning }));
            } else {
                output::note(format!("warning: {warning}"));
            }
        }
    }

    /// Connects to the server without a token.
    pub(super) async fn connect_as_nobody(&self) -> anyhow::Result<Client> {
        Ok(Client::connect_with(&self.address(), self.options(None, RECONNECT)).await?)
    }

    /// Connects to the server, with the token of `HERO_TOKEN` if there is one.
    pub(super) async fn connect(&self) -> anyhow::Result<Client> {
        self.connect_for(RECONNECT).await
    }

    /// The same, and looks for a server that goes away for so long.
    pub(super) async fn connect_for(&self, reconnect: Duration) -> anyhow::Result<Client> {
        Ok(Client::connect_with(&self.address(), self.options(token(), reconnect)).await?)
    }

    /// How to connect with a token.
    pub(super) fn options(&self, token: Option<String>, reconnect: Duration) -> Options {
        Options { token, trust: self.trust(), reconnect: Reconnect::within(reconnect), ..Options::default() }
    }
}

/// The token of this user, if there is one. What is no text is none that a server is shown, and told as that.
pub(super) fn token() -> Option<String> {
    std::env::var_os("HERO_TOKEN").filter(|token| !token.is_empty()).map(|token| token.to_string_lossy().into_owned())
}

/// Whether this user shows a token.
pub(super) fn has_token() -> bool {
    token().is_some()
}
