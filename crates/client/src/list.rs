use serde::Serialize;

use hero_model::ContextId;

/// The parameters for a page of objects with callers: those of one caller, or all.
#[derive(Serialize)]
pub(super) struct List<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) caller_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<&'a str>,
    pub(super) limit: usize,
    pub(super) context_id: ContextId,
}
