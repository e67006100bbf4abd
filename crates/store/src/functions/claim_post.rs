use super::unexpected;
use crate::library::fcall::Function;
use crate::value::{Text, json};
use crate::views::Actors;
use crate::{Error, PRESENCE, Registration, RegistrationClaim};
use hero_model::Presence;

const FUNCTION: Function = Function("claim_post");

impl Actors<'_> {
    /// Claims a registration, or keeps it, for the lifetime of a presence. `presence.incarnation` names the holder.
    pub async fn claim_post(self, registration: &Registration, presence: &Presence) -> Result<RegistrationClaim, Error> {
        self.take_over(registration, presence, "").await
    }

    /// Claims a registration, even from this incarnation, which is known to be dead. Of several callers, one gets it.
    pub async fn take_over(self, registration: &Registration, presence: &Presence, dead: &str) -> Result<RegistrationClaim, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.keys.presence(&registration.script_type, &registration.group, registration.instance))
            .arg(self.0.keys.actors())
            .arg(presence.incarnation.as_deref().unwrap_or_default())
            .arg(json(presence))
            .arg(PRESENCE.as_secs())
            .arg(dead);
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let text = |at: usize| answer.get(at).and_then(|text| text.0.as_deref());
        match text(0) {
            Some("claimed") => Ok(RegistrationClaim::Claimed),
            Some("taken") => Ok(RegistrationClaim::Taken(Box::new(text(1).map(Presence::read).unwrap_or_default()))),
            _ => Err(unexpected("claim_post", &answer)),
        }
    }
}
