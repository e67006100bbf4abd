use super::unexpected;
use crate::Error;
use crate::layouts::LayoutQueues;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Queues;
use hero_model::ScriptType;

const FUNCTION: Function = Function("import_queues");

impl Queues<'_> {
    /// Imports at most `wanted` jobs of other layouts (and never more than 128) into hero's queues, where they are next. Returns true if it
    /// found some.
    ///
    /// After an error it is unknown whether jobs were imported, but none is lost.
    pub async fn import(self, script_type: &ScriptType, layout_queues: &LayoutQueues, wanted: usize) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.look()).arg(script_type.as_str()).arg(wanted).arg(layout_queues.queues.len());
        for (layout, key) in &layout_queues.queues {
            call.arg(layout).arg(key);
        }
        call.arg(layout_queues.stops.len()).arg(&layout_queues.stops);
        let answer: Vec<Text> = self.0.fetches.function(&call).await?;
        let looked: usize = answer.first().and_then(Text::parse).ok_or_else(|| unexpected("import_queues", &answer))?;
        self.0.wake_ups.wake_all(answer.iter().skip(1).filter_map(|text| text.0.as_ref()));
        Ok(looked > 0)
    }
}
