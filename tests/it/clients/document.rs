//! Tools read the committed `openrpc.json`, and the document that a server returns.

use serde_json::json;

use super::*;
use crate::support::Process;

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("openrpc.json")
}

/// The URL where servers accept calls over HTTP.
fn http(server: &Server) -> String {
    server.url().replacen("ws", "http", 1)
}

/// Modules are found from where the code lies.
fn with_modules(directory: &Path) {
    std::os::unix::fs::symlink(modules(), directory.join("node_modules")).unwrap();
}

#[tokio::test]
async fn schema_utils_parses_validates_and_dereferences_the_document_and_accepts_its_examples() {
    assert_eq!(runs(node("schema_utils.js").arg(document())).await.trim(), "well");
}

#[tokio::test]
async fn the_client_that_the_typescript_generator_makes_compiles_as_it_is_and_works() {
    let (house, server) = open().await;
    let scratch = tempfile::tempdir().unwrap();
    let components = json!([{"type": "client", "language": "typescript", "name": "hero"}]);
    let settings = json!({"openrpcDocument": document(), "outDir": scratch.path(), "components": components});
    std::fs::write(scratch.path().join("settings.json"), settings.to_string()).unwrap();
    with_modules(scratch.path());

    let mut generator = node("node_modules/@open-rpc/generator/build/cli.js");
    runs(generator.args(["generate", "-c"]).arg(scratch.path().join("settings.json"))).await;
    let project = scratch.path().join("client/typescript");
    std::fs::copy(home().join("generated.ts"), project.join("src/generated.ts")).unwrap();
    let (built, mut compiler) = (scratch.path().join("built"), node("node_modules/typescript/bin/tsc"));
    runs(compiler.args(["--strict", "--skipLibCheck", "--project"]).arg(&project).arg("--outDir").arg(&built)).await;

    let port = server.url().trim_end_matches('/').rsplit(':').next().unwrap().to_owned();
    assert_eq!(runs(node(built.join("generated.js")).arg(port)).await.trim(), "well");
    house.close().await;
}

#[tokio::test]
async fn the_types_of_quicktype_compile_and_check_what_the_server_answers() {
    let (house, server) = open().await;
    let scratch = tempfile::tempdir().unwrap();
    with_modules(scratch.path());
    let schemas = format!("{}#/components/schemas/", document().display());
    let mut quicktype = node("node_modules/quicktype/dist/index.js");
    runs(quicktype.args(["-s", "schema", &schemas, "-l", "ts", "-o"]).arg(scratch.path().join("types.ts"))).await;
    std::fs::copy(home().join("quicktype.ts"), scratch.path().join("quicktype.ts")).unwrap();
    let mut compiler = node("node_modules/typescript/bin/tsc");
    // Types of Node are found from where the compiler is called.
    compiler.current_dir(scratch.path());
    compiler.args(["--strict", "--skipLibCheck", "--target", "es2022", "--module", "commonjs", "--moduleResolution", "node"]);
    runs(compiler.arg("--outDir").arg(scratch.path().join("built")).arg(scratch.path().join("quicktype.ts"))).await;
    assert_eq!(runs(node(scratch.path().join("built/quicktype.js")).arg(http(&server))).await.trim(), "well");
    house.close().await;
}

#[tokio::test]
async fn the_models_of_datamodel_code_generator_read_what_the_server_answers_and_write_what_it_reads() {
    let (house, server) = open().await;
    let scratch = tempfile::tempdir().unwrap();
    let mut generator = bare(environment().join("bin/datamodel-codegen"));
    generator.args(["--input-file-type", "openapi", "--output-model-type", "pydantic_v2.BaseModel", "--input"]).arg(document());
    runs(generator.arg("--output").arg(scratch.path().join("models.py"))).await;
    let mut user = python("datamodel_client.py");
    assert_eq!(runs(user.arg(scratch.path()).arg(http(&server))).await.trim(), "well");
    house.close().await;
}

#[tokio::test]
async fn the_python_client_of_openrpcclientgenerator_imports_calls_and_is_refused() {
    let (house, server) = open().await;
    let scratch = tempfile::tempdir().unwrap();
    runs(bare(environment().join("bin/orpc")).args(["python", &http(&server)]).arg(scratch.path())).await;
    let mut user = python("openrpcclientgenerator_client.py");
    assert_eq!(runs(user.arg(scratch.path().join("python/hero-http-client")).arg(http(&server))).await.trim(), "well");
    house.close().await;
}

#[tokio::test]
async fn test_coverage_makes_every_call_of_the_document_and_none_is_refused_for_its_form() {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &[]).await;
    let address = format!("{}/", server.url().replacen("ws", "http", 1).trim_end_matches('/'));
    assert_eq!(runs(node("test_coverage.js").arg(address)).await.trim(), "well");
    server.stop().await;
}
