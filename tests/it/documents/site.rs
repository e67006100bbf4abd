//! The documents as a server shows them: all are present, and all links of a page work.

use hero::docs;

use super::*;

/// The values of all attributes with this name in a page.
fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    html.split(&format!(" {name}=\"")).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// The path that a relative one means on a page.
fn resolved(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => assert!(parts.pop().is_some(), "{page}: {link} leaves the site"),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn every_document_is_on_the_site() {
    let there: Vec<&str> = docs::documents().collect();
    let missing: Vec<String> = documents().into_iter().filter(|document| !there.contains(&document.as_str())).collect();
    assert!(missing.is_empty(), "crates/docs/src/source.rs does not have {missing:?}");
    assert!(there.iter().all(|document| root().join(document).exists()));
}

#[test]
fn every_link_of_the_site_leads_to_a_page_and_a_place_in_it() {
    let (mut broken, mut links) = (Vec::new(), 0);
    for (path, file) in docs::files().iter().filter(|(path, _)| path.ends_with(".html")) {
        for link in attributes(&file.text, "href") {
            if link.contains("://") || link.starts_with("data:") {
                continue;
            }
            links += 1;
            let (target, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if target.is_empty() { path.clone() } else { resolved(path, target) };
            let there = docs::files().get(&target);
            let is_there = match there {
                Some(page) => place.is_empty() || attributes(&page.text, "id").contains(&place),
                None => target == docs::OPENRPC,
            };
            if !is_there {
                broken.push(format!("{path}: {link}"));
            }
        }
    }
    assert!(links > 3000, "links are not found any more: {links}");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn pages_load_nothing_from_elsewhere_and_have_no_script_or_style_of_their_own() {
    for (path, file) in docs::files().iter().filter(|(path, _)| path.ends_with(".html")) {
        let is_ours = |source: &&str| source.ends_with("search.js") || docs::files().contains_key(&resolved(path, source));
        assert!(attributes(&file.text, "src").iter().all(is_ours), "{path}");
        for part in ["<style", " style=", " onclick=", "<script>", "<iframe"] {
            assert!(!file.text.contains(part), "{path} has {part}");
        }
    }
}

#[test]
fn every_method_can_be_found() {
    let document: serde_json::Value = serde_json::from_str(&read("openrpc.json")).unwrap();
    let index = docs::files()["search-index.js"].text.trim_start_matches("globalThis.heroIndex = ").trim_end().trim_end_matches(';');
    let parts: Vec<[String; 5]> = serde_json::from_str(index).unwrap();
    for method in document["methods"].as_array().unwrap() {
        let name = method["name"].as_str().unwrap();
        assert!(
            parts.iter().any(|[page, _, anchor, heading, _]| page.starts_with("methods/") && anchor == name && heading == name),
            "{name}"
        );
    }
}
