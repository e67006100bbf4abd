use std::sync::Arc;
use std::time::Duration;

use super::advice::advice;
use super::global::{Global, token};
use crate::client::{Client, Error};
use crate::exit::Exit;
use crate::mcp::{self, Assistant, Connect};

/// Who calls this, and how.
pub(super) const WHERE: &str = "An assistant starts it, with this in its configuration:
  \"hero\": { \"command\": \"hero\", \"args\": [\"mcp\"], \"env\": { \"HERO_TOKEN\": \"...\" } }
HERO_TOKEN says with what rights; leave it out where callers need not log in.";

/// How long a server may be away without a call that waits being told so.
const AWAY: Duration = Duration::from_secs(30);

/// Serves an assistant on stdin and stdout until it closes stdin. Nothing else is written to stdout.
pub(super) async fn main(global: &Global) -> anyhow::Result<Exit> {
    let (options, address) = (global.options(token(), AWAY), Arc::<str>::from(global.address()));
    let connect: Connect = Arc::new(move || {
        let (options, address) = (options.clone(), Arc::clone(&address));
        Box::pin(async move { Client::connect_with(&address, options).await })
    });
    let assistant = Assistant::new(connect, |error| match error {
        // A server says it in the words of its methods, which are the tools.
        Error::Rpc(_) => None,
        error => advice(error, None, None),
    });
    mcp::serve(assistant, tokio::io::stdin(), tokio::io::stdout()).await?;
    Ok(Exit::Ok)
}
