use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("calm");

/// Without a server that looks, every script type counts as one that foreign actors take, after so many seconds.
const HOLDS: u32 = 300;

impl Store {
    /// Says which script types no foreign actor takes: these, but for those with a sign of one in the last hour.
    pub(in crate::store) async fn calm(&self, script_types: &[&str]) -> Result<(), Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(HOLDS).arg(script_types);
        self.0.commands.function::<usize>(&call).await.map(drop)
    }
}
