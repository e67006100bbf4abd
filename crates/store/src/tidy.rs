use crate::Error;
use crate::clock::step::set_back;
use crate::value::Text;
use crate::views::Maintenance;

impl Maintenance<'_> {
    /// Removes actors, queues, hours and types that are gone. Entries that arrive at the same time stay.
    pub async fn tidy(self) -> Result<(), Error> {
        let keys = &self.0.keys;
        // The push that makes a queue non-empty records it again, and the others are recorded again in the same way.
        for set in [keys.actors(), keys.queues(), keys.hours(), keys.types()] {
            let mut cursor = 0;
            loop {
                let known: Vec<Vec<u8>>;
                (cursor, known) = self.0.page_of(&set, cursor).await?;
                self.tidy_page(&set, known).await?;
                if cursor == 0 {
                    break;
                }
            }
        }
        let mut cursor = 0;
        loop {
            let noted: Vec<(Text, Text)>;
            (cursor, noted) = self.0.fields_of(&keys.time_offsets(), cursor).await?;
            self.tidy_time_offsets(noted.into_iter().filter_map(|(field, _)| field.0).collect()).await?;
            if cursor == 0 {
                return Ok(());
            }
        }
    }

    /// Removes those of some recorded time offsets that belong to no hour. An hour is listed before anything is recorded for it.
    async fn tidy_time_offsets(self, noted: Vec<String>) -> Result<(), Error> {
        let keys = &self.0.keys;
        if noted.is_empty() {
            return Ok(());
        }
        let lists: Vec<&str> = noted.iter().map(|field| set_back(field).unwrap_or(field)).collect();
        let listed = self.0.commands.call(redis::cmd("SMISMEMBER").arg(keys.hours()).arg(&lists)).await;
        // If the list of hours cannot be read, no hour counts as gone.
        let listed: Vec<bool> = self.0.unspoilt(listed)?;
        let is_gone = |(list, listed): (&&str, bool)| !listed || keys.parse_index(list).is_none();
        let gone: Vec<&String> =
            noted.iter().zip(lists.iter().zip(listed)).filter(|(_, of)| is_gone(*of)).map(|(field, _)| field).collect();
        if !gone.is_empty() {
            self.0.unspoilt(self.0.commands.call::<u64>(redis::cmd("HDEL").arg(keys.time_offsets()).arg(gone)).await)?;
        }
        Ok(())
    }

    /// Removes members from a set whose keys are gone.
    async fn tidy_page(self, set: &str, known: Vec<Vec<u8>>) -> Result<(), Error> {
        // Bytes that are no text are no key of hero.
        let (known, strange): (Vec<_>, Vec<_>) = known.into_iter().map(String::from_utf8).partition(Result::is_ok);
        for member in strange.into_iter().filter_map(Result::err) {
            self.0.commands.call::<u64>(redis::cmd("SREM").arg(set).arg(member.as_bytes())).await?;
        }
        // A function may touch only keys of its own context.
        let known: Vec<String> = known.into_iter().filter_map(Result::ok).filter(|key| key.starts_with(self.0.keys.prefix())).collect();
        self.0.forget_keys(set, &known).await?;
        Ok(())
    }
}
