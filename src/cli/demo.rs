//! `hero demo`: the whole system at work. Every answer is checked; a wrong one ends the demo with an error.

mod acts;
mod stage;

use std::time::Instant;

use super::exit::Exit;
use super::local_server::{LocalServer, TempDir};
use super::output::{self, Line, Style};
use crate::client::Client;
use stage::Stage;

/// Starts a server of its own, plays every act, and leaves nothing behind.
pub(super) async fn main(json: bool) -> anyhow::Result<Exit> {
    let (begun, style) = (Instant::now(), Style::stdout());
    let say = |text: Line| if json { Ok(()) } else { output::line(text) };
    say(style.bold("hero demo"))?;
    let directory = TempDir::new()?;
    say("starting a server with a private Redis on a free port …".into())?;
    let server = LocalServer::start(directory.path(), &["--pool", "osis=2", "--pool", "sal=1"]).await?;
    say(style.dim(&server.ready))?;
    let client = Client::connect(&server.url, None).await?;
    let stage = Stage::new(client, json);
    let played = acts::play(&stage).await;
    let calls = stage.calls();
    drop(stage);
    say("".into())?;
    let stopped = server.stop().await;
    played?;
    stopped?;
    say(format!("the server stopped cleanly; {calls} calls in {:.1} s, every answer as promised", begun.elapsed().as_secs_f64()).into())?;
    say("".into())?;
    say("Now yours:  hero serve   and in another terminal   hero run examples/hello.rhai".into())?;
    Ok(Exit::Ok)
}
