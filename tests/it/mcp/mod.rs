//! Assistants: the methods as tools, with the client of the SDK, on stdin and stdout and over HTTP.

mod http;
mod http_rules;
mod stdio;

use std::fmt::Debug;

use rmcp::model::{CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ProgressNotificationParam, Tool};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestHandle, RunningService};
use rmcp::transport::IntoTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, RoleClient, serve_client_with_lifecycle};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::support::PATIENCE;

/// Records the progress notifications that it receives.
struct ProgressRecorder(mpsc::UnboundedSender<ProgressNotificationParam>);

impl ClientHandler for ProgressRecorder {
    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let _ = self.0.send(progress);
    }
}

/// A client of the SDK that is connected.
struct Assistant {
    service: RunningService<RoleClient, ProgressRecorder>,
    told: mpsc::UnboundedReceiver<ProgressNotificationParam>,
}

impl Assistant {
    /// One that shakes hands, as all do until the version of 2026.
    async fn over<T, E, A>(transport: T) -> Result<Self, String>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        Self::beginning(ClientLifecycleMode::Initialize, transport).await
    }

    async fn beginning<T, E, A>(how: ClientLifecycleMode, transport: T) -> Result<Self, String>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let (sender, told) = mpsc::unbounded_channel();
        let begun = timeout(PATIENCE, serve_client_with_lifecycle(ProgressRecorder(sender), transport, how)).await.expect("an answer");
        Ok(Self { service: begun.map_err(|error| format!("{error} {error:?}"))?, told })
    }

    async fn tools(&self) -> Vec<Tool> {
        in_time(self.service.list_all_tools()).await
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> CallToolResult {
        in_time(self.service.call_tool(params(tool, arguments))).await
    }

    /// The data of a result that is none of an error.
    async fn data(&self, tool: &'static str, arguments: Value) -> Value {
        let result = self.call(tool, arguments).await;
        assert_ne!(result.is_error, Some(true), "{}", text(&result));
        result.structured_content.unwrap_or_else(|| panic!("no data: {:?}", result.content))
    }

    /// The error of a call that fails.
    async fn refusal(&self, tool: &'static str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result.is_error, Some(true), "{}", text(&result));
        text(&result)
    }

    /// A call that is not waited for.
    async fn begin(&self, tool: &'static str, arguments: Value) -> RequestHandle<RoleClient> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params(tool, arguments)));
        in_time(self.service.send_cancellable_request(request, PeerRequestOptions::no_options())).await
    }

    /// Waits until it is told this.
    async fn hears(&mut self, what: &str) -> Vec<ProgressNotificationParam> {
        let mut heard = Vec::new();
        loop {
            let next = timeout(PATIENCE, self.told.recv()).await.unwrap_or_else(|_| panic!("never heard {what}: {heard:?}")).unwrap();
            let is_it = next.message.as_ref().is_some_and(|message| message.contains(what));
            heard.push(next);
            if is_it {
                return heard;
            }
        }
    }

    async fn close(mut self) {
        in_time(self.service.close()).await;
    }
}

fn params(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone())
}

async fn in_time<T, E: Debug>(answer: impl Future<Output = Result<T, E>>) -> T {
    timeout(PATIENCE, answer).await.expect("an answer").unwrap()
}

/// All texts of a result.
fn text(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// A script that says something, and how far it is, and then goes on until it is stopped.
const ENDLESS: &str = r#"print("begun"); job::progress(50, "half"); loop { sleep(0.01); }"#;

/// The abilities of an assistant, over any transport.
async fn is_served(assistant: &mut Assistant) {
    let tools = assistant.tools().await;
    let run = tools.iter().find(|tool| tool.name == "run_and_wait").unwrap();
    let schema = run.schema_as_json_value();
    assert_eq!(schema["required"], serde_json::json!(["script"]));
    assert!(schema["properties"]["args"]["description"].as_str().unwrap().contains("The value of `args` in the script"), "{schema}");
    assert!(run.description.as_ref().unwrap().starts_with("Creates a job, starts it, waits for its end"));
    assert_eq!(run.annotations.as_ref().unwrap().read_only_hint, Some(false));

    let result = assistant.call("run_and_wait", serde_json::json!({"script": "40 + 2"})).await;
    assert_eq!(result.structured_content.as_ref().unwrap()["value"], 42);
    assert!(text(&result).contains(r#""value":42"#), "{}", text(&result));
    let wrong = assistant.refusal("run_and_wait", serde_json::json!({"script": "let x = 1;\nthrow \"no\""})).await;
    assert!(wrong.contains("failed: no") && wrong.contains("(line 2"), "{wrong}");
    let missing = assistant.refusal("run_and_wait", serde_json::json!({})).await;
    assert!(missing.contains("parameter `script` is missing"), "{missing}");
    let odd = assistant.refusal("run_and_wait", serde_json::json!({"script": "1", "wait_timeout": 4000})).await;
    assert!(odd.contains("`wait_timeout`") && odd.contains("longer than a call may wait"), "{odd}");
    let flow = serde_json::json!({"jobs": {"a": {"script": "1"}, "b": {"script": "2", "depends_on": ["a"]}}});
    assert_eq!(assistant.data("run_flow_and_wait", flow).await["status"], "finished");
    assert!(assistant.service.call_tool(params("no_such_tool", serde_json::json!({}))).await.is_err());
}

/// A job that runs, and for which an assistant waits: its id, and the call.
async fn waiting(assistant: &mut Assistant, script: &str) -> (String, RequestHandle<RoleClient>) {
    let call = assistant.begin("run_and_wait", serde_json::json!({"script": script, "timeout": 3000})).await;
    let mut heard = assistant.hears("is started: 50 half").await;
    // What other calls are told comes on the same connection.
    let token = heard.last().map(|progress| progress.progress_token.clone());
    heard.retain(|progress| Some(&progress.progress_token) == token.as_ref());
    // Each notification has a larger number.
    assert!(heard.iter().zip(heard.iter().skip(1)).all(|(one, next)| one.progress < next.progress), "{heard:?}");
    let all: String = heard.into_iter().filter_map(|progress| progress.message).collect();
    let id = all.split("job ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_else(|| panic!("{all}"));
    (id.to_owned(), call)
}

/// Asks until a job has this status.
async fn becomes(assistant: &Assistant, job: &str, status: &str) -> Value {
    crate::support::until(&format!("{job} is {status}"), || async {
        let found = assistant.data("get_job", serde_json::json!({"job_id": job})).await;
        (found["status"] == status).then_some(found)
    })
    .await
}
