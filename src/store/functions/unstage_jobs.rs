use crate::store::Inner;
use crate::store::codec::Text;
use crate::store::fcall::Function;
use crate::store::group::Group;

const FUNCTION: Function = Function("unstage_jobs");

impl Inner {
    /// Takes away what was staged of a group, as far as that is possible now. What is left the releaser takes away.
    pub(super) async fn unstage(&self, group: &Group<'_>) {
        let mut left = group.jobs.len();
        while left > 0 {
            let mut call = self.call(&FUNCTION);
            call.arg(group.id.as_str()).arg(left);
            let Ok(answer) = self.commands.function::<Vec<Text>>(&call).await else { return };
            self.wake_ups.wake_all(answer.iter().skip(1).filter_map(|text| text.0.as_ref()));
            left = answer.first().and_then(Text::parse).unwrap_or(0);
        }
    }
}
