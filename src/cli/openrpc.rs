use std::io::Write as _;

use super::exit::Exit;

/// Prints the description of the wire, made from the method definitions: what is committed as `openrpc.json`.
pub(super) fn main() -> anyhow::Result<Exit> {
    std::io::stdout().write_all(crate::rpc::document().as_bytes())?;
    Ok(Exit::Ok)
}
