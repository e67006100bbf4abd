use crate::library::fcall::Function;
use crate::value::Text;
use crate::{Error, Inner};

const FUNCTION: Function = Function("take_spoilt");

impl Inner {
    /// Returns and resets the keys of another type that functions have met: those that they left out, and those that they deleted. If Redis
    /// refuses the library, scripts keep no such lists beyond a call.
    pub(crate) async fn take_spoilt(&self) -> Result<[Vec<String>; 2], Error> {
        if self.commands.home().library_refusal.lasts() {
            return Ok(Default::default());
        }
        let answer: Vec<Text> = self.commands.function(&self.call(&FUNCTION)).await?;
        let keys = |deleted: bool| -> Vec<String> {
            let pairs = answer.chunks_exact(2).filter(|pair| (pair[1].0.as_deref() == Some("1")) == deleted);
            pairs.filter_map(|pair| pair[0].0.clone()).collect()
        };
        Ok([keys(false), keys(true)])
    }
}
