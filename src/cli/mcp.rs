use std::sync::Arc;
use std::time::Duration;

use super::global::{Global, token};
use crate::cli::error::advice::advice;
use crate::client::{Client, Error};
use crate::exit::Exit;
use crate::mcp::{self, Assistant, Connect};

/// How to configure an assistant.
pub(super) const WHERE: &str = "The assistant starts this command. Add it to the assistant's configuration:
  \"hero\": { \"command\": \"hero\", \"args\": [\"mcp\"], \"env\": { \"HERO_TOKEN\": \"...\" } }
HERO_TOKEN decides its rights. Leave it out if the server does not require login.";

/// Time that a server may be away before a waiting call gets an error.
const MAX_AWAY_TIME: Duration = Duration::from_secs(30);

/// Serves an assistant on stdin and stdout until it closes stdin. Writes nothing else to stdout.
pub(super) async fn main(global: &Global) -> anyhow::Result<Exit> {
    let (options, address) = (global.options(token(), MAX_AWAY_TIME), Arc::<str>::from(global.address()));
    let connect: Connect = Arc::new(move || {
        let (options, address) = (options.clone(), Arc::clone(&address));
        Box::pin(async move { Client::connect_with(&address, options).await })
    });
    let assistant = Assistant::new(connect, |error| match error {
        // The server's message names its methods, which are also the names of the tools.
        Error::Rpc(_) => None,
        error => advice(error, None, None, None),
    });
    mcp::serve(assistant, tokio::io::stdin(), tokio::io::stdout()).await?;
    Ok(Exit::Ok)
}
