use crate::library::fcall::Function;
use crate::views::Actors;
use crate::{Error, Registration};

const FUNCTION: Function = Function("release_post");

impl Actors<'_> {
    /// Releases a registration, if this incarnation holds it.
    pub async fn release_post(self, registration: &Registration, incarnation: &str) -> Result<(), Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.keys.presence(&registration.script_type, &registration.group, registration.instance))
            .arg(self.0.keys.actors())
            .arg(incarnation);
        self.0.commands.function(&call).await
    }
}
