use crate::Error;
use crate::jobs::filter::Condition;
use crate::jobs::of_status::{OfStatus, Since, add_since};
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Jobs;

const FUNCTION: Function = Function("find_open");

/// The most open jobs that are checked for a page, because they must be sorted.
const MOST_OPEN: usize = 4096;

impl Jobs<'_> {
    /// Searches for jobs that may pass a filter among those of an open status, from one on, if these are few. Nothing: they are many, or
    /// are in no set.
    pub(crate) async fn find_open(
        self,
        status: &str,
        from: Option<&Since>,
        wanted: usize,
        conditions: &[Condition],
    ) -> Result<Option<OfStatus>, Error> {
        let mut call = self.0.call(&FUNCTION);
        add_since(&mut call, from);
        call.arg(status).arg(MOST_OPEN).arg(wanted);
        Condition::add(conditions, &mut call);
        OfStatus::read("find_open", &self.0.commands.function::<Vec<Text>>(&call).await?)
    }
}
