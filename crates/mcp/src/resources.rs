use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

use reqwest::Url;
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use super::lazy_client::LazyClient;
use super::result::MAX_RESULT_BYTES;
use hero_client::{Error, code};
use hero_engine::reference::markdown_by_group;
use hero_model::{ContextId, JobId, LogLine};

/// The prefix of resources that describe script functions.
const FUNCTIONS: &str = "hero://functions/";
/// The name of the log of a job.
const LOG: &str = "hero://jobs/{job_id}/log{?context_id,cursor}";
/// Maximum number of lines that are read at once.
const LINES_PER_READ: usize = 500;

/// Returns the script functions, one resource per subject, with its text.
fn functions() -> &'static [(Resource, String)] {
    static MADE: LazyLock<Vec<(Resource, String)>> = LazyLock::new(|| {
        let of_group = |(group, text): (&str, String)| {
            let resource = Resource::new(format!("{FUNCTIONS}{}", group.to_lowercase().replace(' ', "-")), format!("functions: {group}"))
                .with_description(format!("What scripts may call for {group}, with what each function takes and gives, and an example."))
                .with_mime_type("text/markdown")
                .with_size(text.len() as u64);
            (resource, text)
        };
        markdown_by_group().into_iter().map(of_group).collect()
    });
    &MADE
}

/// Returns the resources with fixed names.
pub(super) fn list() -> Vec<Resource> {
    functions().iter().map(|(resource, _)| resource.clone()).collect()
}

/// Returns the templates of resources with variable names.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let log = ResourceTemplate::new(LOG, "log of a job")
        .with_description("What a job has logged, the oldest first. Its last line says where to go on, if there is more.")
        .with_mime_type("text/plain");
    vec![log]
}

/// Reads a resource.
pub(super) async fn read(uri: &str, link: &LazyClient) -> Result<ReadResourceResult, ErrorData> {
    if let Some((resource, text)) = functions().iter().find(|(resource, _)| resource.uri == uri) {
        let contents = ResourceContents::text(text.as_str(), resource.uri.as_str()).with_mime_type("text/markdown");
        return Ok(ReadResourceResult::new(vec![contents]));
    }
    let Some(log) = Log::of(uri) else {
        let known = format!("there is no resource of this name; there are {LOG}, and those that resources/list gives");
        return Err(ErrorData::resource_not_found(known, None));
    };
    let text = log.read(link).await.map_err(refused)?;
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri)]))
}

/// Converts an error of the server to one of the protocol.
fn refused(error: Error) -> ErrorData {
    match &error {
        Error::Rpc(rpc) if matches!(rpc.code, code::JOB_NOT_FOUND) => ErrorData::resource_not_found(error.to_string(), rpc.data.clone()),
        Error::Rpc(rpc) => ErrorData::new(ErrorCode(rpc.code), error.to_string(), rpc.data.clone()),
        _ => ErrorData::internal_error(error.to_string(), None),
    }
}

/// The log of a job, from a cursor on.
struct Log {
    job_id: JobId,
    context_id: ContextId,
    cursor: Option<String>,
}

impl Log {
    fn of(uri: &str) -> Option<Self> {
        let uri = Url::parse(uri).ok()?;
        let job_id = uri.path().strip_prefix('/')?.strip_suffix("/log")?.parse().ok()?;
        let mut log = Self { job_id, context_id: ContextId(0), cursor: None };
        if (uri.scheme(), uri.host_str(), uri.port()) != ("hero", Some("jobs"), None) {
            return None;
        }
        let mut said = HashSet::new();
        for (name, value) in uri.query_pairs() {
            match &*name {
                name if !said.insert(name.to_owned()) => return None,
                "context_id" => log.context_id = ContextId(value.parse().ok()?),
                "cursor" => log.cursor = Some(value.into_owned()),
                _ => return None,
            }
        }
        Some(log)
    }

    async fn read(mut self, link: &LazyClient) -> Result<String, Error> {
        let (client, mut text) = (link.client().await?, String::new());
        loop {
            let page = client.get_logs(self.context_id, &self.job_id, self.cursor.as_deref(), LINES_PER_READ).await?;
            if page.lines.is_empty() {
                return Ok(text);
            }
            for line in page.lines {
                if !text.is_empty() && text.len() + line.text.len() > MAX_RESULT_BYTES {
                    let _ = writeln!(text, "(there is more: {})", self.uri()); // Writing to a string cannot fail.
                    return Ok(text);
                }
                write_line(&mut text, &line);
                self.cursor = Some(line.cursor);
            }
        }
    }

    fn uri(&self) -> String {
        let cursor = self.cursor.as_deref().unwrap_or_default();
        format!("hero://jobs/{}/log?context_id={}&cursor={cursor}", self.job_id, self.context_id)
    }
}

fn write_line(text: &mut String, line: &LogLine) {
    let time = line.time.map(|time| format!("{time} ")).unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{time}{} {}", line.level.as_str(), super::result::head(&line.text, MAX_RESULT_BYTES));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_named_by_its_job_and_where_to_begin() {
        let id = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70";
        let log = Log::of(&format!("hero://jobs/{id}/log?context_id=3&cursor=file-12")).unwrap();
        assert_eq!((log.job_id.as_str(), log.context_id, log.cursor.as_deref()), (id, ContextId(3), Some("file-12")));
        assert_eq!(Log::of(&log.uri()).map(|log| log.uri()), Some(log.uri()));
        for bad in ["", "hero://jobs", "hero://jobs/x/log", "hero://flows/1/log", "http://jobs/1/log"] {
            assert!(Log::of(bad).is_none(), "{bad}");
        }
        for bad in [
            format!("hero://jobs/{id}"),
            format!("hero://jobs/{id}/log?limit=3"),
            format!("hero://jobs/{id}/log?cursor=1&cursor=2"),
            format!("hero://jobs:1/{id}/log"),
        ] {
            assert!(Log::of(&bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn every_subject_has_a_resource_of_its_own() {
        let resources = list();
        let mut uris: Vec<&str> = resources.iter().map(|resource| &*resource.uri).collect();
        assert!(uris.len() > 10 && uris.contains(&"hero://functions/regular-expressions"), "{uris:?}");
        uris.dedup();
        assert_eq!(uris.len(), resources.len());
        assert!(functions().iter().all(|(_, text)| text.len() < MAX_RESULT_BYTES && text.contains("\n### `")));
    }
}
