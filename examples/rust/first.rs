//! Runs a script on a server, and prints its result.
//!
//! To try it, make it the `src/main.rs` of a package with the dependencies in docs/clients.md, and start `hero serve`.

use std::time::Duration;

use hero_client::Client;
use hero_client::model::JobSpec;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("ws://127.0.0.1:8700", None).await?; // or Some(token)
    let spec = JobSpec { script: "40 + 2".to_owned(), ..JobSpec::default() };
    let result = client.run_and_wait(&spec, Duration::from_secs(60)).await?;
    println!("{}", result.output);
    Ok(())
}
