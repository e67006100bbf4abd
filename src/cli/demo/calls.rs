use std::cell::Cell;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::cli::output::{self, Line, Style};
use crate::client::{Client, Error, RpcError};
use crate::model::{JobId, excerpt};

/// The maximum length of a text in a shown call.
const MAX_TEXT_CHARS: usize = 110;

/// Makes calls, and shows them with their answers.
pub(super) struct Calls {
    pub(super) client: Client,
    json: bool,
    style: Style,
    count: Cell<usize>,
}

impl Calls {
    pub(super) fn new(client: Client, json: bool) -> Self {
        Self { client, json, style: Style::stdout(), count: Cell::new(0) }
    }

    /// Returns the number of calls made.
    pub(super) fn count(&self) -> usize {
        self.count.get()
    }

    /// Shows the title of the next step.
    pub(super) fn title(&self, title: &str) -> anyhow::Result<()> {
        if self.json { Ok(()) } else { output::line("").and_then(|()| output::line(self.style.bold(title))) }
    }

    /// Shows an item of a subscription.
    pub(super) fn show_item(&self, topic: &str, item: &Value) -> anyhow::Result<()> {
        match self.json {
            true => output::json(&json!({ "notification": topic, "item": item })),
            false => output::line(Line::from("  ") + self.style.yellow("«") + " " + self.style.dim(topic) + " " + short(item)),
        }
    }

    /// Shows lines to people; shows nothing with `--json`.
    pub(super) fn show_lines(&self, lines: Vec<Line>) -> anyhow::Result<()> {
        if self.json { Ok(()) } else { lines.into_iter().try_for_each(|line| output::line(Line::from("    ") + line)) }
    }

    /// Makes a call, shows it and returns its answer, which may be an error of the server.
    async fn ask(&self, method: &str, params: Value) -> anyhow::Result<Result<Value, RpcError>> {
        if !self.json {
            output::line(Line::from("  ") + self.style.dim("→") + format!(" {method} {}", short(&params)))?;
        }
        self.count.set(self.count.get() + 1);
        let answer = match self.client.call_named_within(std::time::Duration::from_secs(120), method, &params).await {
            Ok(value) => Ok(value),
            Err(Error::Rpc(error)) => Err(error),
            Err(error) => return Err(error.into()),
        };
        match (self.json, &answer) {
            (true, Ok(value)) => output::json(&json!({ "method": method, "params": params, "result": value }))?,
            (true, Err(error)) => output::json(
                &json!({ "method": method, "params": params, "error": { "code": error.code, "message": error.message, "data": error.data } }),
            )?,
            (false, Ok(value)) => output::line(Line::from("  ") + self.style.green("←") + " " + short(value))?,
            (false, Err(error)) => {
                output::line(Line::from("  ") + self.style.red("←") + format!(" error {}: {}", error.code, error.message))?;
            }
        }
        Ok(answer)
    }

    /// Makes a call that must succeed.
    pub(super) async fn call(&self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.ask(method, params).await?.map_err(|error| anyhow::anyhow!("{method} was answered with error {}: {error}", error.code))
    }

    /// Makes a call that must return the error `code`.
    pub(super) async fn refused(&self, method: &str, params: Value, code: i32) -> anyhow::Result<RpcError> {
        match self.ask(method, params).await? {
            Err(error) if error.code == code => Ok(error),
            Err(error) => anyhow::bail!("{method} was answered with error {} instead of {code}: {error}", error.code),
            Ok(value) => anyhow::bail!("{method} was answered with {value} instead of error {code}"),
        }
    }

    /// Creates a job and returns its id.
    pub(super) async fn create(&self, spec: Value) -> anyhow::Result<JobId> {
        let id = self.call("create_job", spec).await?;
        id.as_str().and_then(|id| id.parse().ok()).with_context(|| format!("create_job answered {id}, which is no job id"))
    }
}

/// Ends the demo with an error if an answer is not the expected one.
pub(super) fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, promised: &T) -> anyhow::Result<()> {
    anyhow::ensure!(found == promised, "{what} is {found:?} instead of {promised:?}");
    Ok(())
}

/// Formats JSON on one line, cut if it is long.
fn short(value: &Value) -> String {
    excerpt(&value.to_string(), MAX_TEXT_CHARS).into_owned()
}
