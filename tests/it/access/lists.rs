//! List commands for callers that may see only their own items.

use std::path::Path;

use super::*;
use crate::support::{Process, hero};

/// A server, and commands for it by users with tokens.
struct Town {
    server: Process,
    home: tempfile::TempDir,
}

/// The exit status of a command, and its output.
struct Ended(i32, String, String);

impl Town {
    async fn open() -> (Self, Client) {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data").display().to_string();
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", &data, "--pool", "osis=1", "--login"];
        let set = |command: &mut tokio::process::Command| {
            command.env("HERO_NODE_REDIS", "nowhere=redis://127.0.0.1:1");
        };
        let server = Process::start_with(&arguments, set).until_ready().await;
        let operator = Client::connect(&format!("unix://{data}/hero.sock"), None).await.unwrap();
        (Self { server, home }, operator)
    }

    fn run(&self, token: &str, arguments: &[&str]) -> Ended {
        let mut command = std::process::Command::new(hero());
        command.args(arguments).env_clear().env("HOME", self.home.path()).env("HERO_SERVER", self.server.url()).env("HERO_TOKEN", token);
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended(output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// The number of entries that a list shows.
    fn many(&self, token: &str, list: &[&str]) -> usize {
        let Ended(code, out, error) = self.run(token, &[&["--json"], list].concat());
        assert_eq!(code, 0, "{list:?}: {error}");
        let found: Value = serde_json::from_str(&out).unwrap();
        found.as_object().unwrap().values().find_map(Value::as_array).unwrap().len()
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.home.path().join(name);
        std::fs::write(&path, text).unwrap();
        Path::display(&path).to_string()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_lists_what_is_its_own_without_naming_itself() {
    let (town, operator) = Town::open().await;
    let flow = town.file("flow.yaml", "jobs: { a: { script: '1' } }");
    let mut tokens = Vec::new();
    for role in [Role::Caller, Role::Caller, Role::Admin] {
        let identity = operator.create_identity(None, &[]).await.unwrap().identity_id;
        operator.set_role(identity, role, CONTEXT, true).await.unwrap();
        let token = operator.create_token(identity, None, None).await.unwrap().secret;
        for made in [
            &["job", "create", "-e", "1"][..],
            &["flow", "create", &flow],
            &["schedule", "create", "--every", "1h", "--name", &format!("of-{identity}"), "-e", "1"],
            // Nobody is there, so the message waits to be sent.
            &["message", "send", "hello", "--to", "node:nowhere"],
        ] {
            let Ended(code, _, error) = town.run(&token, made);
            assert_eq!(code, 0, "{made:?}: {error}");
        }
        tokens.push(token);
    }
    let lists: [&[&str]; 4] = [&["job", "list"], &["flow", "list"], &["schedule", "list"], &["message", "list", "--out"]];
    for list in lists {
        let (own, all) = (town.many(&tokens[0], list), town.many(&tokens[2], list));
        // Jobs of flows are jobs.
        assert_eq!((own, all), if list[0] == "job" { (2, 6) } else { (1, 3) }, "{list:?}");
        assert_eq!(town.many(&tokens[2], &[list, &["--caller", "1"]].concat()), own, "{list:?}");
        assert_eq!(town.many(&tokens[0], &[list, &["--caller", "1"]].concat()), own, "{list:?}");
        let Ended(_, _, note) = town.run(&tokens[0], list);
        assert!(note.contains("only those of 1, who you are"), "{list:?}: {note}");
        let Ended(code, _, error) = town.run(&tokens[0], &[list, &["--caller", "2"]].concat());
        assert!(code == 8 && error.contains("caller_id = 1"), "{list:?}: {code} {error}");
    }
    // A name leads to a schedule of its own.
    let Ended(code, shown, error) = town.run(&tokens[0], &["schedule", "show", "of-1"]);
    assert!(code == 0 && shown.contains("of-1"), "{code} {shown} {error}");
    let Ended(code, _, error) = town.run(&tokens[0], &["schedule", "delete", "of-2"]);
    assert!(code != 0 && error.contains("there is no schedule"), "{code} {error}");
    town.server.stop().await;
}
