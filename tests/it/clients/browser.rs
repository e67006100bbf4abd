//! The documents in Chromium: served by a server, and from the folder that `hero docs` writes.

use super::*;
use crate::support::{Process, hero};

#[tokio::test(flavor = "multi_thread")]
async fn the_documents_are_read_and_searched_in_a_browser_at_three_widths_with_and_without_a_server() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &[]).await;
    let folder = home.path().join("site");
    let said = runs(bare(hero()).arg("docs").arg("--out").arg(&folder)).await;
    assert!(said.contains("site/index.html"), "{said}");
    let mut command = node("documents.mjs");
    command.arg(server.url().replace("ws://", "http://")).arg(&folder).env("HOME", home.path());
    if let Some(chromium) = std::env::var_os("CHROMIUM") {
        command.env("CHROMIUM", chromium);
    }
    let said = runs(&mut command).await;
    assert!(said.ends_with("well\n"), "{said}");
    server.stop().await;
}
