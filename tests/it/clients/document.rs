//! What tools make of the committed `openrpc.json`.

use serde_json::json;

use super::*;

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("openrpc.json")
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
    // Modules are found from where the code lies.
    std::os::unix::fs::symlink(modules(), scratch.path().join("node_modules")).unwrap();

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
