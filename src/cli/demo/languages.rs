use std::path::Path;

use serde_json::{Value, json};

use super::calls::{Calls, expect};
use crate::engine::look_up;

/// An example of a configured script type that runs a command.
const BASH: &str = "bash";
const CONFIGURATION: &str = "[script_types.bash]\ncommand = [\"bash\", \"{script}\"]\n";

/// A script in another language than Rhai, and its expected result.
struct Example {
    script_type: &'static str,
    title: &'static str,
    script: &'static str,
    given: Value,
    value: Value,
}

/// Returns a script for each language that this machine may have.
fn examples() -> [Example; 4] {
    let words = json!({ "env_vars": { "WORDS": "one two three" } });
    [
        Example {
            script_type: "osis",
            title: "HeroScript is another notation for scripts (examples/order.hero)",
            script: include_str!("../../../examples/order.hero"),
            given: json!({}),
            value: json!([null, 42, "Dear Ada"]),
        },
        Example {
            script_type: "python",
            title: "Python runs as confined processes (examples/python/mean.py)",
            script: include_str!("../../../examples/python/mean.py"),
            given: json!({ "args": { "numbers": [1, 2, 3] } }),
            value: json!({ "mean": 2.0 }),
        },
        Example {
            script_type: BASH,
            title: "Any command can be a script type, here bash (examples/commands/count.sh)",
            script: include_str!("../../../examples/commands/count.sh"),
            given: words.clone(),
            value: json!({ "words": 3 }),
        },
        Example {
            script_type: "v",
            title: "V is compiled and runs (examples/v/words.v)",
            script: include_str!("../../../examples/v/words.v"),
            given: words,
            value: json!({ "words": 3 }),
        },
    ]
}

/// Returns the arguments of a server for each language that this machine has. Writes the configuration into
/// `directory`.
pub(super) fn arguments(directory: &Path) -> anyhow::Result<Vec<String>> {
    let mut arguments: Vec<String> = ["--pool", "python=1", "--pool", "v=1"].map(ToOwned::to_owned).into();
    if look_up(BASH).is_ok() {
        let path = directory.join("hero.toml");
        std::fs::write(&path, CONFIGURATION)?;
        arguments.extend(["--pool".to_owned(), format!("{BASH}=1"), "--config".to_owned(), path.to_string_lossy().into_owned()]);
    }
    Ok(arguments)
}

/// Runs a script of each language that has an actor here, and explains why others have none.
pub(super) async fn run(calls: &Calls) -> anyhow::Result<()> {
    let actors: Vec<Value> = serde_json::from_value(calls.client.call_named("list_actors", json!({})).await?)?;
    for Example { script_type, title, script, given, value } in examples() {
        calls.title(title)?;
        let actor = actors.iter().find(|actor| actor["script_type"] == script_type);
        if let Some(why) = actor.map_or(Some("it was not found"), |actor| actor["unavailable"].as_str()) {
            calls.show_lines(vec![format!("not on this machine: {why}").into()])?;
            continue;
        }
        let mut spec = json!({ "script": script, "script_type": script_type });
        if let (Some(spec), Value::Object(given)) = (spec.as_object_mut(), given) {
            spec.extend(given);
        }
        let result = calls.call("run_and_wait", spec).await?;
        expect("the value", &result["value"], &value)?;
    }
    Ok(())
}
