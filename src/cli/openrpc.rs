use super::output;
use crate::exit::Exit;

/// Prints the OpenRPC document, which is generated from the definitions of the methods. `openrpc.json` in the
/// repository is the same.
pub(super) fn main() -> anyhow::Result<Exit> {
    output::document(crate::rpc::document())?;
    Ok(Exit::Ok)
}
