//! `docs/clients.md` lists the programs that `make setup-tests` installs.

use serde_json::Value;

use super::*;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The version of a crate in `Cargo.lock`.
fn locked(name: &str) -> String {
    let lock = read("Cargo.lock");
    let (_, rest) = lock.split_once(&format!("name = \"{name}\"\nversion = \"")).unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

/// The version of a package in `requirements.txt`.
fn required(name: &str) -> String {
    let all = read("tests/clients/requirements.txt");
    all.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix("==")?.split_whitespace().next().map(str::to_owned)).unwrap()
}

#[test]
fn the_table_of_foreign_programs_names_the_versions_that_the_tests_run() {
    let (table, packages) = (read("docs/clients.md"), read("tests/clients/package.json"));
    let packages: Value = serde_json::from_str(&packages).unwrap();
    let version = |name: &str| packages["dependencies"][name].as_str().unwrap().rsplit('@').next().unwrap().to_owned();
    let programs = [
        ("wscat", version("wscat")),
        ("jsonrpsee", locked("jsonrpsee")),
        ("rpc-websockets", version("rpc-websockets")),
        ("json-rpc-2.0", version("json-rpc-2.0")),
        ("jayson", version("jayson")),
        ("@open-rpc/client-js", version("@open-rpc/client-js")),
        ("aiorpcX", required("aiorpcx")),
        ("@open-rpc/generator", version("@open-rpc/generator")),
        ("tsc", version("typescript")),
        ("@open-rpc/schema-utils-js", version("schema-utils-2")),
        ("@open-rpc/test-coverage", version("@open-rpc/test-coverage")),
        ("openrpcclientgenerator", required("openrpcclientgenerator")),
        ("datamodel-code-generator", required("datamodel-code-generator")),
        ("quicktype", version("quicktype")),
        ("ioredis", version("ioredis")),
    ];
    for (program, version) in programs {
        let line = table.lines().find(|line| line.contains(&format!("**{program}**")));
        assert!(line.is_some_and(|line| line.contains(&version)), "{program} {version}: {line:?}");
    }
    assert!(table.contains(&format!("websockets {}", required("websockets"))));
}
