use clap::Args;

use super::choices::most;
use super::output::{self, Style};
use crate::client::{Client, Error, code};
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

/// Whose entries are shown.
#[derive(Debug, Args)]
pub(super) struct OfCaller {
    /// Only those of this caller [default: of all, or yours where you may see no others]
    #[arg(long, value_name = "NAME")]
    pub(super) caller: Option<String>,
}

impl Paging {
    /// As [`Self::collect`], of a caller or of all. Whoever may not see all sees its own, and is told so.
    pub(super) async fn collect_of<T>(
        &self,
        client: &Client,
        caller: Option<&str>,
        page: impl AsyncFn(ContextId, Option<&str>, Option<&str>, usize) -> Result<(Vec<T>, Option<String>), Error>,
    ) -> Result<(Vec<T>, Option<String>), Error> {
        let collected = self.collect(async |context, cursor: Option<&str>, wanted| page(context, caller, cursor, wanted).await).await;
        match (collected, caller) {
            (Err(error), None) if error.has_code(code::DENIED) => {
                let own = own_caller(client, error).await?;
                let own = own.as_str();
                let collected =
                    self.collect(async |context, cursor: Option<&str>, wanted| page(context, Some(own), cursor, wanted).await).await?;
                output::note(Style::stderr().dim(format!("only those of {own}, who you are: you may not see others")));
                Ok(collected)
            }
            (collected, _) => collected,
        }
    }
}

/// Who a client is that was refused because it asked for more than its own; the refusal, if it is nobody.
pub(super) async fn own_caller(client: &Client, refusal: Error) -> Result<String, Error> {
    match client.whoami().await?.identity_id {
        Some(own) => Ok(own.to_string()),
        None => Err(refusal),
    }
}

/// Tells the cursor from which a list goes on that was shown in part.
pub(super) fn note_more(cursor: Option<&str>) {
    if let Some(cursor) = cursor {
        output::note(Style::stderr().dim(format!("there are more: --cursor {cursor}")));
    }
}
