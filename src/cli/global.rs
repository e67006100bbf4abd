use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::output;
use super::serve::environment;
use crate::client::{self, Client, Options, Reconnect, Trust};
use crate::server::run::OPERATOR_SOCKET;
use crate::server::settings::{default_data, misspelt_of_commands};

/// The options of every command.
#[derive(Debug, Args)]
pub(super) struct Global {
    /// The server to use [default: ws://127.0.0.1:8700] [env: HERO_SERVER]
    #[arg(long, global = true, value_name = "URL", help_heading = "Global options")]
    server: Option<String>,
    /// The certificate authority (PEM) of a wss:// server [default: those known to this machine] [env: HERO_CA]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    ca: Option<PathBuf>,
    /// Answer in JSON: one document, or one per line for continuous answers
    #[arg(long, global = true, help_heading = "Global options")]
    pub(super) json: bool,
}

/// Time to try to reconnect to a server that went away.
pub(super) const RECONNECT_TIME: Duration = Duration::from_secs(30);

/// How long a silent server may keep a command with a short wait.
const MAX_SILENCE: Duration = Duration::from_secs(5);

/// The default address of `hero serve`.
const DEFAULT_SERVER: &str = "ws://127.0.0.1:8700";

impl Global {
    /// Returns the named server, if any; an empty name counts as none.
    pub(super) fn named_server(&self) -> Option<String> {
        // Read here instead of by clap, whose usage would show it as a given argument.
        self.server.clone().or_else(|| std::env::var("HERO_SERVER").ok()).filter(|server| !server.is_empty())
    }

    /// Returns the options of a command with only a server, or nothing.
    pub(super) const fn at(server: Option<String>) -> Self {
        Self { server, ca: None, json: false }
    }

    /// Returns the trusted certificate authorities; an empty name counts as none.
    pub(super) fn trust(&self) -> Trust {
        let file = self.ca.clone().or_else(|| std::env::var_os("HERO_CA").map(PathBuf::from));
        Trust::of(file.filter(|file| !file.as_os_str().is_empty()).as_deref())
    }

    /// Returns the URL of the server.
    pub(super) fn address(&self) -> String {
        self.named_server().unwrap_or_else(|| DEFAULT_SERVER.to_owned())
    }

    /// Connects to the named server. Without one, connects to the operator's socket in this user's data directory, if
    /// it exists.
    pub(super) async fn connect_as_operator(&self) -> anyhow::Result<Client> {
        let socket = data_directory().map(|data| data.join(OPERATOR_SOCKET)).filter(|socket| socket.exists());
        match socket {
            Some(socket) if self.is_for_own_server() => match self.connect_to_socket(&socket, RECONNECT_TIME).await {
                // A killed server has left the socket behind. Where a directory was named, another server would be wrong.
                Err(client::Error::Unreachable { .. }) if named_data_directory().is_none() => self.connect().await,
                connected => Ok(connected?),
            },
            _ => self.connect().await,
        }
    }

    /// Connects to the server to drain, and returns its address. Where HERO_DATA names a directory, that is the server
    /// with this directory and no other.
    pub(super) async fn connect_to_drain(&self) -> anyhow::Result<(Client, String)> {
        let is_named = named_data_directory().is_some();
        let socket = data_directory().map(|data| data.join(OPERATOR_SOCKET)).filter(|socket| is_named || socket.exists());
        if let Some(socket) = socket.filter(|_| self.is_for_own_server()) {
            match self.connect_to_socket(&socket, Duration::ZERO).await {
                Err(client::Error::Unreachable { .. }) if !is_named => {}
                Err(error @ client::Error::Unreachable { .. }) => {
                    return Err(anyhow::Error::from(error).context(format!(
                        "HERO_DATA names {}, and no server with that directory listens on its {OPERATOR_SOCKET}; name a server without login with --server",
                        socket.parent().unwrap_or(&socket).display()
                    )));
                }
                connected => return Ok((connected?, unix_address(&socket))),
            }
        }
        Ok((self.connect_for(Duration::ZERO).await?, self.address()))
    }

    /// Whether commands for operators go to the server of this user.
    fn is_for_own_server(&self) -> bool {
        self.named_server().is_none() && !has_token()
    }

    async fn connect_to_socket(&self, socket: &Path, reconnect: Duration) -> Result<Client, client::Error> {
        Client::connect_with(&unix_address(socket), self.options(None, reconnect)).await
    }

    /// Warns of misspelt environment variables of commands that call a server.
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
        Ok(Client::connect_with(&self.address(), self.options(None, RECONNECT_TIME)).await?)
    }

    /// Connects to the server, with the token of `HERO_TOKEN` if there is one.
    pub(super) async fn connect(&self) -> anyhow::Result<Client> {
        self.connect_for(RECONNECT_TIME).await
    }

    /// Connects to the server, and tries to reconnect for this long if it goes away.
    pub(super) async fn connect_for(&self, reconnect: Duration) -> anyhow::Result<Client> {
        Ok(Client::connect_with(&self.address(), self.options(token(), reconnect)).await?)
    }

    /// Connects for a command that waits at most `wait`: a silent server keeps the command as long again, but at least [`MAX_SILENCE`].
    pub(super) async fn connect_to_wait(&self, reconnect: Duration, wait: Option<Duration>) -> anyhow::Result<Client> {
        let mut options = self.options(token(), reconnect);
        options.answer = wait.map_or(options.answer, |wait| options.answer.min(wait.max(MAX_SILENCE)));
        Ok(Client::connect_with(&self.address(), options).await?)
    }

    /// Returns the options for connecting with a token.
    pub(super) fn options(&self, token: Option<String>, reconnect: Duration) -> Options {
        Options { token, trust: self.trust(), reconnect: Reconnect::within(reconnect), ..Options::default() }
    }
}

/// Returns the data directory that HERO_DATA names; an empty name counts as none.
fn named_data_directory() -> Option<PathBuf> {
    environment().get("HERO_DATA").filter(|data| !data.is_empty()).map(PathBuf::from)
}

/// Returns the data directory of this user's server.
pub(super) fn data_directory() -> Option<PathBuf> {
    named_data_directory().or_else(|| default_data(&environment()))
}

fn unix_address(socket: &Path) -> String {
    format!("unix://{}", socket.display())
}

/// Returns the token of this user, if there is one. A token that is not valid text is converted, so that the server
/// refuses it.
pub(super) fn token() -> Option<String> {
    std::env::var_os("HERO_TOKEN").filter(|token| !token.is_empty()).map(|token| token.to_string_lossy().into_owned())
}

/// Whether this user has a token.
pub(super) fn has_token() -> bool {
    token().is_some()
}
