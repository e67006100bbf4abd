use clap::Args;

use super::choices::most;
use super::output::{self, Style};
use crate::client::Error;
use crate::model::ContextId;

/// How many entries one call gives at most.
pub(super) const PAGE: usize = 1000;

/// Which part of a list is shown, and of which context.
#[derive(Debug, Args)]
pub(super) struct Paging {
    /// The most to list
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = most)]
    limit: u32,
    /// Go on where the last list ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// The context they belong to
    #[arg(long, value_name = "N", default_value_t = 0)]
    context: u32,
}

impl Paging {
    /// The entries of the list, and the cursor behind them if there are more. `page` fetches one page: from a cursor on, so many entries at most.
    pub(super) async fn collect<T>(
        &self,
        page: impl AsyncFn(ContextId, Option<&str>, usize) -> Result<(Vec<T>, Option<String>), Error>,
    ) -> Result<(Vec<T>, Option<String>), Error> {
        let (limit, mut found, mut cursor) = (self.limit as usize, Vec::new(), self.cursor.clone());
        loop {
            let (entries, next) = page(ContextId(self.context), cursor.as_deref(), (limit - found.len()).min(PAGE)).await?;
            found.extend(entries);
            cursor = next;
            if cursor.is_none() || found.len() >= limit {
                return Ok((found, cursor));
            }
        }
    }
}

/// Tells the cursor from which a list goes on that was shown in part.
pub(super) fn note_more(cursor: Option<&str>) {
    if let Some(cursor) = cursor {
        output::note(Style::stderr().dim(format!("there are more: --cursor {cursor}")));
    }
}
