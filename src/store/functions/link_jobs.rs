use crate::store::Inner;
use crate::store::fcall::Function;

const FUNCTION: Function = Function("link_jobs");

/// About how many are entered by a call, and by how many calls.
const MOST: (usize, usize) = (64, 100);

impl Inner {
    /// Enters jobs that were created together where those have them that they wait for. What fails here, or is too much, the releaser does.
    pub(super) async fn link(&self) {
        for _ in 0..MOST.1 {
            let mut call = self.call(&FUNCTION);
            call.arg(MOST.0);
            if !matches!(self.commands.function::<u8>(&call).await, Ok(1)) {
                return;
            }
        }
    }
}
