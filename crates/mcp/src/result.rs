use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Advice, MOST_VALUES, has_too_many_values};
use hero_client::Error;
use hero_model::tree;

/// Maximum number of bytes of a result for a model. Reading costs tokens, and some clients drop longer results.
pub(super) const MAX_RESULT_BYTES: usize = 64 * 1024;
/// Maximum lengths of a text in a result that is too long, tried one after the other.
const MAX_TEXT_LENGTHS: [usize; 4] = [16 * 1024, 4096, 1024, 256];

/// Converts the result of a method for a model: to text, and to data if it is an object, as the protocol defines.
/// Refuses a result that would take much memory as data.
pub(super) fn success(tool: &str, answer: &RawValue) -> CallToolResult {
    let answer = answer.get();
    if has_too_many_values(answer.as_bytes()) {
        let what =
            format!("the answer has {} bytes and more than {MOST_VALUES} values, which is more than an assistant is given", answer.len());
        return refusal(&format!("{what}: ask for less (a smaller `limit`), or use the command line, or JSON-RPC"));
    }
    let Bounded { text, value, whole } = bounded(tree(answer).expect("it was read as JSON"));
    let mut content = vec![ContentBlock::text(text)];
    if let Some(whole) = whole {
        content.push(ContentBlock::text(cut(tool, whole)));
    }
    let mut result = CallToolResult::success(content);
    result.structured_content = value.filter(Value::is_object);
    result
}

/// Converts an error of a method: what happened, where, and what to do.
pub(super) fn failure(error: &Error, advice: Advice) -> CallToolResult {
    let mut text = error.to_string();
    if let Some(advice) = advice(error) {
        text = format!("{text}\n{advice}");
    }
    let mut result = refusal(&text);
    if let Some(rpc) = error.rpc() {
        let data = rpc.data.clone().and_then(|data| bounded(data).value);
        result.structured_content = Some(json!({ "code": rpc.code, "message": head(&rpc.message, MAX_RESULT_BYTES), "data": data }));
    }
    result
}

/// Returns the result of a call that was not made or not completed.
pub(super) fn refusal(text: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(head(text, MAX_RESULT_BYTES))])
}

/// Returns the note for a result that was cut.
fn cut(tool: &str, whole: usize) -> String {
    let method = match tool {
        "run_and_wait" | "wait_job" => "get_result",
        "run_flow_and_wait" | "wait_flow" => "get_flow",
        other => other,
    };
    let less = match tool {
        "get_logs" => " A smaller `limit` gives less at once, and the `cursor` of the last line shown goes on behind it.",
        "find_objects" | "list_jobs" | "list_flows" | "list_schedules" => {
            " A smaller `limit` gives less at once, and `next_cursor` goes on."
        }
        "list_functions" => " The resources hero://functions/… have all of it, one subject each.",
        _ => "",
    };
    format!(
        "This was cut: all of it has {whole} bytes, and at most {MAX_RESULT_BYTES} are shown here. The command line, or {method} over JSON-RPC, gives all of it.{less}"
    )
}

/// A value that fits the limit for a model.
struct Bounded {
    text: String,
    /// The same as data, if the cut value is still valid.
    value: Option<Value>,
    /// The number of bytes before the cut, if it was cut.
    whole: Option<usize>,
}

/// Shortens a value that is too long: first its texts, then its longest list, then its text form.
fn bounded(mut value: Value) -> Bounded {
    let mut text = value.to_string();
    if text.len() <= MAX_RESULT_BYTES {
        return Bounded { text, value: Some(value), whole: None };
    }
    let whole = Some(text.len());
    for longest in MAX_TEXT_LENGTHS {
        shorten(&mut value, longest);
        text = value.to_string();
        if text.len() <= MAX_RESULT_BYTES {
            return Bounded { text, value: Some(value), whole };
        }
    }
    let over = text.len() - MAX_RESULT_BYTES;
    if let Some(list) = longest_list(&mut value) {
        drop_last(list, over);
        text = value.to_string();
    }
    let value = (text.len() <= MAX_RESULT_BYTES).then_some(value);
    Bounded { text: head(&text, MAX_RESULT_BYTES), value, whole }
}

fn shorten(value: &mut Value, longest: usize) {
    match value {
        Value::String(text) if text.len() > longest => *text = head(text, longest),
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, longest)),
        Value::Object(fields) => fields.values_mut().for_each(|field| shorten(field, longest)),
        _ => {}
    }
}

/// Returns the longest list among a value and its fields.
fn longest_list(value: &mut Value) -> Option<&mut Vec<Value>> {
    match value {
        Value::Array(items) => Some(items),
        Value::Object(fields) => fields.values_mut().filter_map(Value::as_array_mut).max_by_key(|items| items.len()),
        _ => None,
    }
}

/// Drops last items with at least `over` bytes in total.
fn drop_last(items: &mut Vec<Value>, over: usize) {
    let mut dropped = 0;
    while dropped < over {
        let Some(last) = items.pop() else { return };
        dropped += last.to_string().len() + 1;
    }
}

/// Returns the beginning of a text, at most `most` bytes, with a mark where it was cut.
pub(super) fn head(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most.saturating_sub('…'.len_utf8())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(value: &Value) -> usize {
        value.to_string().len()
    }

    #[test]
    fn a_short_result_is_not_cut() {
        let value = json!({"value": 42, "output": "é".repeat(100)});
        let Bounded { text, value: Some(given), whole: None } = bounded(value.clone()) else { panic!("it was cut") };
        assert_eq!((text, &given), (value.to_string(), &value));
    }

    #[test]
    fn a_long_text_keeps_its_beginning() {
        let value = json!({"job_id": "j", "output": "é".repeat(MAX_RESULT_BYTES)});
        let whole = size(&value);
        let cut = bounded(value);
        let given = cut.value.unwrap();
        assert!(cut.text.len() <= MAX_RESULT_BYTES && cut.whole == Some(whole));
        assert_eq!(given["job_id"], "j");
        let output = given["output"].as_str().unwrap();
        assert!(output.len() > 10_000 && output.trim_start_matches('é') == "…", "{}", output.len());
    }

    #[test]
    fn a_long_list_keeps_its_first_whole_items() {
        let line = |at: usize| json!({"cursor": at, "text": "x".repeat(100)});
        let cut = bounded(json!({"lines": (0..5000).map(line).collect::<Vec<_>>(), "ended": true}));
        let given = cut.value.unwrap();
        let lines = given["lines"].as_array().unwrap();
        assert!((300..5000).contains(&lines.len()) && cut.text.len() <= MAX_RESULT_BYTES && given["ended"] == true);
        assert_eq!(lines.last(), Some(&line(lines.len() - 1)));
    }

    #[test]
    fn a_large_object_is_cut_as_text() {
        let fields: serde_json::Map<String, Value> = (0..20_000).map(|at| (at.to_string(), json!(at))).collect();
        let cut = bounded(fields.into());
        assert!(cut.value.is_none() && cut.text.len() <= MAX_RESULT_BYTES && cut.text.ends_with('…'));
    }
}
