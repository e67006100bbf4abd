use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::markdown::{Page, page};
use super::source::{PICTURES, SECTIONS, Section, Source};
use super::{File, INDEX, OPENRPC, SVG, search};

const HTML: &str = "text/html; charset=utf-8";
const STYLESHEET: &str = "site.css";
const SCRIPT: &str = "search.js";
const SEARCH_INDEX: &str = "search-index.js";

/// Makes every file of the site, by its path.
pub(super) fn files() -> BTreeMap<String, File> {
    let pages: Vec<(&Source, String, Page)> = sources().map(|source| (source, path_of(source.path), made(source))).collect();
    let titles: Titles<'_> = pages.iter().map(|(source, path, page)| (source.path, (path.as_str(), page))).collect();
    let mut files: BTreeMap<String, File> = [
        (STYLESHEET, "text/css; charset=utf-8", include_str!("site.css").to_owned()),
        (SCRIPT, "text/javascript; charset=utf-8", include_str!("search.js").to_owned()),
        (SEARCH_INDEX, "text/javascript; charset=utf-8", search::index(pages.iter().map(|(_, path, page)| (path.as_str(), page)))),
        (INDEX, HTML, framed("Contents", INDEX, &root_of(INDEX), &contents(&titles), &titles)),
    ]
    .into_iter()
    .map(|(path, media_type, text)| (path.to_owned(), File { media_type, text }))
    .collect();
    for (_, path, page) in &pages {
        let text = framed(page.title(), path, &root_of(path), &page.html, &titles);
        files.insert(path.clone(), File { media_type: HTML, text });
    }
    files.extend(PICTURES.iter().map(|picture| (path_of(picture.path), File { media_type: SVG, text: picture.text.to_owned() })));
    files
}

/// The path on the site and the page of each document, by its path in the repository.
type Titles<'a> = BTreeMap<&'static str, (&'a str, &'a Page)>;

fn sources() -> impl Iterator<Item = &'static Source> {
    SECTIONS.iter().flat_map(|section| section.sources)
}

/// Returns the path of a file on the site: files of `docs` are at its root, others as in the repository.
fn path_of(file: &str) -> String {
    let file = file.strip_prefix("docs/").unwrap_or(file);
    file.strip_suffix(".md").map_or_else(|| file.to_owned(), |document| format!("{document}.html"))
}

/// Returns the relative path from a page to the root of the site.
fn root_of(path: &str) -> String {
    "../".repeat(path.matches('/').count())
}

fn made(source: &Source) -> Page {
    let root = root_of(&path_of(source.path));
    page(source, &|target| {
        if target == OPENRPC {
            return Some(format!("{root}{OPENRPC}"));
        }
        sources().chain(PICTURES).any(|other| other.path == target).then(|| format!("{root}{}", path_of(target)))
    })
}

/// Returns a page with its frame.
fn framed(title: &str, path: &str, root: &str, main: &str, titles: &Titles<'_>) -> String {
    let (title, navigation) = (escaped(title), navigation(path, root, titles));
    format!(
        r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · hero</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{root}{STYLESHEET}">
<script src="{root}{SCRIPT}" data-root="{root}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header>
<a class="name" href="{root}{INDEX}">hero</a>
<search hidden><input type="search" placeholder="Search (press /)" aria-label="Search the documents" autocomplete="off" spellcheck="false"><ol></ol></search>
<a class="menu" href="#contents">Contents</a>
</header>
<main id="main">
{main}</main>
<nav id="contents" aria-label="Documents">
{navigation}</nav>
</body>
</html>
"##
    )
}

/// Returns the list of documents, with the parts of the shown one below it.
fn navigation(shown: &str, root: &str, titles: &Titles<'_>) -> String {
    let mut text = String::new();
    for section in &SECTIONS {
        let mut pages = listed(section, shown).filter_map(|source| titles.get(source.path)).peekable();
        if pages.peek().is_none() {
            continue;
        }
        let _ = writeln!(text, "<h2>{}</h2>\n<ul>", section.title);
        for (path, page) in pages {
            let current = if *path == shown { " aria-current=\"page\"" } else { "" };
            let _ = write!(text, "<li><a href=\"{root}{path}\"{current}>{}</a>", escaped(page.title()));
            let parts: Vec<_> = page.parts.iter().filter(|part| part.level == 2 && *path == shown).collect();
            if parts.len() > 1 {
                text.push_str("\n<ul>");
                for part in parts {
                    let _ = write!(text, "\n<li><a href=\"#{}\">{}</a></li>", part.anchor, escaped(&part.title));
                }
                text.push_str("\n</ul>");
            }
            text.push_str("</li>\n");
        }
        text.push_str("</ul>\n");
    }
    text
}

/// Returns the documents of a section that the navigation of a page lists.
fn listed<'a>(section: &'a Section, shown: &'a str) -> impl Iterator<Item = &'static Source> + 'a {
    let is_open = move |source: &Source| !section.is_folded || path_of(source.path) == shown;
    section.sources.iter().enumerate().filter(move |(at, source)| *at == 0 || is_open(source)).map(|(_, source)| source)
}

/// Returns the page that lists all documents, each with its first sentence.
fn contents(titles: &Titles<'_>) -> String {
    let mut text = format!(
        "<h1>hero</h1>\n<p>A job server for scripts. These are the documents of version {}; \
         <a href=\"{OPENRPC}\">{OPENRPC}</a> describes every call to programs.</p>\n",
        env!("CARGO_PKG_VERSION")
    );
    for section in &SECTIONS {
        let _ = writeln!(text, "<h2 id=\"{0}\">{0}</h2>\n<ul class=\"contents\">", section.title);
        for (path, page) in section.sources.iter().filter_map(|source| titles.get(source.path)) {
            let about = page.parts.iter().map(|part| part.prose.trim()).find(|prose| !prose.is_empty()).unwrap_or_default();
            let sentence = about.split(". ").next().unwrap_or_default().trim_end_matches('.');
            let _ = writeln!(text, "<li><a href=\"{path}\">{}</a> {}.</li>", escaped(page.title()), escaped(sentence));
        }
        text.push_str("</ul>\n");
    }
    text
}

/// The maximum number of suggested pages.
const MAX_SUGGESTIONS: usize = 5;
/// The maximum number of characters of an unknown path that are compared.
const MAX_PATH_CHARS: usize = 100;

/// Returns the page for a path without a file.
pub(super) fn missing(path: &str, root: &str) -> String {
    let last = |path: &str| -> String { path.rsplit('/').next().unwrap_or_default().chars().take(MAX_PATH_CHARS).collect() };
    let wanted = last(path);
    let near = |known: &str| strsim::jaro_winkler(&wanted, &last(known));
    let mut pages: Vec<String> = sources().map(|source| path_of(source.path)).collect();
    pages.sort_by(|a, b| near(b).total_cmp(&near(a)));
    let shown: String = path.chars().take(MAX_PATH_CHARS).collect();
    let mut text = format!(
        "<h1>There is no page {}</h1>\n<p>The <a href=\"{root}{INDEX}\">contents</a> list all pages. Perhaps one of these is meant:</p>\n<ul>\n",
        escaped(&shown)
    );
    for page in pages.iter().take(MAX_SUGGESTIONS) {
        let _ = writeln!(text, "<li><a href=\"{root}{page}\">{page}</a></li>");
    }
    text.push_str("</ul>\n");
    framed("No such page", "", root, &text, &BTreeMap::new())
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    pulldown_cmark::html::push_html(&mut safe, std::iter::once(pulldown_cmark::Event::Text(text.into())));
    safe
}
