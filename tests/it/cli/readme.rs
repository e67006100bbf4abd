//! The README says what the program does.

const BEGIN: &str = "<!-- settings -->\n";
const END: &str = "<!-- /settings -->";

#[test]
fn the_settings_in_the_readme_are_those_of_the_program() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let fresh = hero::cli::settings::markdown();
    if table != fresh && std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{fresh}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(table, fresh, "the table in README.md is stale: run `UPDATE=1 cargo test readme`");
}
