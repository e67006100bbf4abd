#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod call;
mod follow;
mod http;
mod lazy_client;
mod message;
mod rejection;
mod resources;
mod result;
mod running;
mod stdio;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelledNotificationParam, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressToken, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, RequestId, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use call::Call;
use follow::Teller;
use hero_client::{Error, State};
use hero_rpc::{LONGEST_ID, NAME};
pub use http::assistants;
pub use lazy_client::Connect;
use lazy_client::LazyClient;
use running::{Key, Running};
pub use stdio::serve;

/// Returns advice for an error that does not come from the server. The server's own errors contain advice.
pub type Advice = fn(&Error) -> Option<String>;

/// Maximum number of values of a message: parsed, each takes many times its bytes.
const MOST_VALUES: usize = 50_000;

/// True if JSON may have more values than that. Counts characters within texts, too, so that nothing must be parsed.
fn has_too_many_values(json: &[u8]) -> bool {
    json.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).take(MOST_VALUES).count() == MOST_VALUES
}

/// The instructions for a model.
const INSTRUCTIONS: &str = "hero runs scripts as jobs, each in a confined process. Scripts of the types `osis` and `sal` are Rhai: check_script says what is wrong with \
     one without running it, and the resources hero://functions/… have what scripts may call besides Rhai's own functions. run_and_wait runs a script and gives \
     its value; what it prints is its log (get_logs, hero://jobs/{job_id}/log). When a wait runs out the job goes on: wait_job waits on, explain_job says why \
     it does not run. Cancelling run_and_wait or run_flow_and_wait stops what it started. Results are cut after 64 KB.";

/// Answers one client: over stdio until it ends, over HTTP for one request.
#[derive(Debug)]
pub struct Assistant {
    link: Arc<LazyClient>,
    advice: Advice,
    running: Arc<Running>,
    /// The client of these requests, if several clients are served.
    client: Option<Arc<str>>,
    /// Whether a request ends with its connection.
    over_http: bool,
    /// Is cancelled where the input ends, on stdin.
    input: CancellationToken,
}

impl Assistant {
    /// Creates an assistant that calls methods on connections from `connect`.
    pub fn new(connect: Connect, advice: Advice) -> Self {
        Self {
            link: Arc::new(LazyClient::new(connect)),
            advice,
            running: Arc::default(),
            client: None,
            over_http: false,
            input: CancellationToken::new(),
        }
    }

    /// Returns the key by which the client can cancel a call. Over HTTP, a client without a name has none, because
    /// other clients use the same ids.
    fn key(&self, id: RequestId) -> Option<Key> {
        (self.client.is_some() || !self.over_http).then(|| (self.client.clone(), id))
    }

    /// What says that the client of a request is gone.
    fn gone(&self, context: &RequestContext<RoleServer>) -> Gone<'_> {
        if !self.over_http {
            return Gone::Input(&self.input);
        }
        // From this version on there is no other way to cancel a request over HTTP; before, a connection may break without meaning anything.
        let is_new = context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        Gone::Request(context.ct.clone(), is_new)
    }
}

/// How long a server is still looked for after the end of the input: one that is there has answered by then.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(1);

/// What says that a client is gone.
enum Gone<'a> {
    /// The end of its request, and whether that means that it cancels the call.
    Request(CancellationToken, bool),
    /// The end of the input. Calls at a server that is there are still awaited, as long as the SDK does that.
    Input(&'a CancellationToken),
}

/// The ways in which a client ends a call early.
struct Leaving<'a> {
    /// The client cancels the call.
    cancelled: &'a CancellationToken,
    gone: Gone<'a>,
    /// The connection with which the call is made.
    link: &'a LazyClient,
}

impl Leaving<'_> {
    /// Returns when the client does not want the call any more, and gives whether what it started is to be stopped.
    async fn left(&self) -> bool {
        let gone = async {
            match &self.gone {
                Gone::Request(gone, cancels) => {
                    gone.cancelled().await;
                    *cancels
                }
                Gone::Input(ended) => {
                    ended.cancelled().await;
                    if let Ok(Ok(client)) = timeout(SEARCH_TIMEOUT, self.link.client()).await {
                        let mut states = client.states();
                        while let Some(State::Open) = states.next().await {}
                    }
                    false
                }
            }
        };
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => true,
            cancels = gone => cancels,
        }
    }
}

/// Methods of the protocol that are not here. The SDK would answer with their bare names.
macro_rules! missing {
    ($($name:ident($request:ty) -> $result:ty = $method:literal;)*) => {
        $(async fn $name(&self, _: $request, _: RequestContext<RoleServer>) -> Result<$result, ErrorData> {
            Err(no_method($method))
        })*
    };
}

fn no_method(name: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method {:?}", result::head(name, 64)), None)
}

impl ServerHandler for Assistant {
    missing! {
        list_prompts(Option<PaginatedRequestParams>) -> ListPromptsResult = "prompts/list";
        get_prompt(GetPromptRequestParams) -> GetPromptResponse = "prompts/get";
        complete(CompleteRequestParams) -> CompleteResult = "completion/complete";
    }

    async fn on_custom_request(&self, request: CustomRequest, _: RequestContext<RoleServer>) -> Result<CustomResult, ErrorData> {
        Err(no_method(&request.method))
    }

    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
            .with_server_info(Implementation::new(NAME, env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::tools().to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::tool_of(name).cloned()
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::tool_of(&request.name) else {
            let name = result::head(&request.name, 64);
            return Err(ErrorData::invalid_params(format!("there is no tool {name:?}; tools/list gives those that there are"), None));
        };
        let token = context.meta.get_progress_token();
        // Each notification repeats the token.
        if let Some(ProgressToken(RequestId::String(token))) = &token
            && token.len() > LONGEST_ID
        {
            let what = format!("progressToken: has {} bytes, and none has more than {LONGEST_ID}", token.len());
            return Err(ErrorData::invalid_params(what, None));
        }
        let begun = self.running.begin(self.key(context.id.clone()));
        let leaving = Leaving { cancelled: &begun.cancelled, gone: self.gone(&context), link: &self.link };
        let teller = token.map(|token| Teller::new(context.peer.clone(), token));
        let arguments = request.arguments.unwrap_or_default();
        let call = Call { link: &self.link, tool: &tool.name, arguments, teller, leaving, advice: self.advice };
        Ok(Box::pin(call.made()).await.into())
    }

    async fn on_cancelled(&self, notification: CancelledNotificationParam, _: NotificationContext<RoleServer>) {
        if let Some(key) = notification.request_id.and_then(|id| self.key(id)) {
            self.running.cancel(&key);
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::list()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let leaving = Leaving { cancelled: &CancellationToken::new(), gone: self.gone(&context), link: &self.link };
        tokio::select! {
            biased;
            read = resources::read(&request.uri, &self.link) => read.map(Into::into),
            _ = leaving.left() => Err(ErrorData::internal_error("the client has left before the resource was read", None)),
        }
    }
}
