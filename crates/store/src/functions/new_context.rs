use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Contexts;
use hero_model::ContextId;

const FUNCTION: Function = Function("new_context");

impl Contexts<'_> {
    /// Reserves a number for a new context if there are fewer than `most` contexts; otherwise nothing. Call it on the store of context 0.
    pub async fn reserve(self, most: usize) -> Result<Option<ContextId>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(most);
        let answer: Text = self.0.commands.function(&call).await?;
        match (answer.0.as_deref(), answer.parse()) {
            (_, Some(number)) => Ok(Some(ContextId(number))),
            (Some("full"), _) => Ok(None),
            _ => Err(unexpected("new_context", &answer)),
        }
    }
}
