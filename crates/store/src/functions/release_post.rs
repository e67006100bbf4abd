use crate::fcall::Function;
use crate::{Error, Registration, Store};

const FUNCTION: Function = Function("release_post");

impl Store {
    /// Releases a registration, if this incarnation holds it.
    pub async fn release_post(&self, registration: &Registration, incarnation: &str) -> Result<(), Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.keys().presence(&registration.script_type, &registration.group, registration.instance))
            .arg(self.keys().actors())
            .arg(incarnation);
        self.0.commands.function(&call).await
    }
}
