use super::exit::Exit;
use super::output;

/// Prints the description of the wire, made from the method definitions: what is committed as `openrpc.json`.
pub(super) fn main() -> anyhow::Result<Exit> {
    output::document(crate::rpc::document())?;
    Ok(Exit::Ok)
}
