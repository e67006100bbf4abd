use std::ops::RangeInclusive;

use crate::Error;
use crate::jobs::filter::Condition;
use crate::jobs::of_status::{OfStatus, Since, add_since};
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Jobs;

const FUNCTION: Function = Function("find_failed");

impl Jobs<'_> {
    /// Searches for jobs that may pass a filter among those that ended in error, from one on and within a time. Nothing: the index may lack
    /// some of them.
    pub(crate) async fn find_failed(
        self,
        from: Option<&Since>,
        times: &RangeInclusive<i64>,
        look_at: usize,
        wanted: usize,
        conditions: &[Condition],
    ) -> Result<Option<OfStatus>, Error> {
        let mut call = self.0.call(&FUNCTION);
        add_since(&mut call, from);
        call.arg(times.end()).arg(times.start()).arg(look_at).arg(wanted);
        Condition::add(conditions, &mut call);
        OfStatus::read("find_failed", &self.0.commands.function::<Vec<Text>>(&call).await?)
    }
}
