//! `hero demo`: shows the whole system. Every answer is checked; a wrong one ends the demo with an error.

mod calls;
mod flow;
mod languages;
mod steps;

use std::time::Instant;

use super::local_server::{LocalServer, TempDir};
use super::output::{self, Line, Style};
use crate::client::Client;
use crate::exit::Exit;
use calls::Calls;

/// Starts a separate server, runs every step, and removes everything again.
pub(super) async fn main(json: bool) -> anyhow::Result<Exit> {
    let (begun, style) = (Instant::now(), Style::stdout());
    let say = |text: Line| if json { Ok(()) } else { output::line(text) };
    say(style.bold("hero demo"))?;
    let directory = TempDir::new()?;
    say("starting a server with a private Redis on a free port …".into())?;
    let languages = languages::arguments(directory.path())?;
    let arguments: Vec<&str> = ["--pool", "osis=2", "--pool", "sal=1"].into_iter().chain(languages.iter().map(String::as_str)).collect();
    let server = LocalServer::start(directory.path(), &arguments).await?;
    say(style.dim(&server.ready))?;
    let client = Client::connect(&server.url, None).await?;
    let calls = Calls::new(client, json);
    let done = steps::run(&calls).await;
    let count = calls.count();
    drop(calls);
    say("".into())?;
    let stopped = server.stop().await;
    done?;
    stopped?;
    say(format!("the server stopped cleanly; {count} calls in {:.1} s, every answer as promised", begun.elapsed().as_secs_f64()).into())?;
    say("".into())?;
    let hero = program();
    say(format!("Now yours:  {hero} serve   and in another terminal   {hero} run examples/hello.rhai").into())?;
    Ok(Exit::Ok)
}

/// Returns the command that runs this program: its name if PATH has it.
fn program() -> String {
    let found = |path: std::ffi::OsString| std::env::split_paths(&path).any(|directory| directory.join("hero").is_file());
    let own = std::env::current_exe().ok().filter(|_| !std::env::var_os("PATH").is_some_and(found));
    let here = std::env::current_dir().unwrap_or_default();
    own.map_or_else(|| "hero".to_owned(), |own| own.strip_prefix(&here).unwrap_or(&own).display().to_string())
}
