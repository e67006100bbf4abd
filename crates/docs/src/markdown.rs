use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::source::Source;

/// A heading, and the text below it up to the next one.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) level: usize,
    pub(super) title: String,
    pub(super) anchor: String,
    /// The text without fenced code.
    pub(super) prose: String,
}

/// A rendered document.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) parts: Vec<Part>,
    pub(super) html: String,
}

impl Page {
    pub(super) fn title(&self) -> &str {
        self.parts.first().map_or("", |part| &part.title)
    }
}

/// Returns the anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase().replace(' ', "-");
    kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_')).collect()
}

/// Renders a document. `leads` maps a repository path to its path on the site, if it is there.
pub(super) fn page(source: &Source, leads: &dyn Fn(&str) -> Option<String>) -> Page {
    let mut writer = Writer { source, leads, parts: Vec::new(), links: Vec::new(), heading: None, is_code: false, events: Vec::new() };
    for event in Parser::new_ext(source.text, Options::ENABLE_TABLES) {
        writer.take(event);
    }
    let mut text = String::with_capacity(source.text.len() * 2);
    html::push_html(&mut text, writer.events.into_iter());
    Page { parts: writer.parts, html: text }
}

/// Transforms events one after another, and collects the searchable text.
struct Writer<'a> {
    source: &'a Source,
    leads: &'a dyn Fn(&str) -> Option<String>,
    parts: Vec<Part>,
    /// Whether each open link has a target on the site.
    links: Vec<bool>,
    /// The index of the open heading among the events.
    heading: Option<usize>,
    is_code: bool,
    events: Vec<Event<'a>>,
}

impl<'a> Writer<'a> {
    fn take(&mut self, event: Event<'a>) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                self.heading = Some(self.events.len());
                self.parts.push(Part { level: level as usize, title: String::new(), anchor: String::new(), prose: String::new() });
                self.events.push(event);
            }
            Event::End(TagEnd::Heading(_)) => {
                self.name_heading();
                self.events.push(event);
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let target = self.target(&dest_url);
                self.links.push(target.is_some());
                if let Some(target) = target {
                    self.events.push(Event::Start(Tag::Link { link_type, dest_url: target.into(), title, id }));
                }
            }
            Event::End(TagEnd::Link) => {
                if self.links.pop().unwrap_or(true) {
                    self.events.push(event);
                }
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let dest_url = self.target(&dest_url).map_or(dest_url, CowStr::from);
                self.events.push(Event::Start(Tag::Image { link_type, dest_url, title, id }));
            }
            Event::Start(Tag::Table(_)) => {
                self.events.extend([Event::Html(CowStr::Borrowed("<div class=\"table\" tabindex=\"0\">")), event])
            }
            Event::End(TagEnd::Table) => self.events.extend([event, Event::Html(CowStr::Borrowed("</div>\n"))]),
            // Comments mark generated parts; readers do not need them.
            Event::Html(text) | Event::InlineHtml(text) if text.trim_start().starts_with("<!--") => {}
            event => {
                self.note(&event);
                self.events.push(event);
            }
        }
    }

    /// Collects searchable text.
    fn note(&mut self, event: &Event<'_>) {
        let Some(part) = self.parts.last_mut() else { return };
        let text = if self.heading.is_some() { &mut part.title } else { &mut part.prose };
        match event {
            Event::Text(words) if !self.is_code => text.push_str(words),
            Event::Code(words) => text.push_str(words),
            Event::Start(Tag::CodeBlock(_)) => self.is_code = true,
            Event::End(TagEnd::CodeBlock) => self.is_code = false,
            Event::SoftBreak | Event::HardBreak | Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell) => text.push(' '),
            _ => {}
        }
    }

    /// Gives the heading that ends here its anchor and a link to it.
    fn name_heading(&mut self) {
        let (Some(at), Some(part)) = (self.heading.take(), self.parts.last()) else { return };
        let plain = anchor(&part.title);
        let is_taken = |name: &str| self.parts.iter().any(|other| other.anchor == name);
        let numbered = (1..).map(|number| format!("{plain}-{number}"));
        let name = std::iter::once(plain.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default();
        if let Event::Start(Tag::Heading { id, .. }) = &mut self.events[at] {
            *id = Some(name.clone().into());
        }
        let link = format!("<a class=\"anchor\" href=\"#{name}\" aria-label=\"Link to this section\"></a>");
        self.events.push(Event::InlineHtml(link.into()));
        if let Some(part) = self.parts.last_mut() {
            part.anchor = name;
        }
    }

    /// Returns the target of a link on the site, or `None` if only the repository has it.
    fn target(&self, link: &str) -> Option<String> {
        if link.starts_with('#') || link.contains("://") {
            return Some(link.to_owned());
        }
        let (path, place) = link.split_once('#').map_or((link, None), |(path, place)| (path, Some(place)));
        let leads = (self.leads)(&resolved(self.source.path, path))?;
        Some(place.map_or_else(|| leads.clone(), |place| format!("{leads}#{place}")))
    }
}

/// Resolves a relative path in a file of the repository.
fn resolved(of: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = of.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &'static str) -> Page {
        let leads = |path: &str| (path == "docs/b.md").then(|| "b.html".to_owned());
        page(&Source { path: "docs/x/a.md", text }, &leads)
    }

    #[test]
    fn links_lead_to_pages_and_what_has_none_stays_text() {
        let html = made("[b](../b.md#at) [c](../c.rs) [d](https://d.example/) [e](#e)").html;
        let expected = r##"<p><a href="b.html#at">b</a> c <a href="https://d.example/">d</a> <a href="#e">e</a></p>"##;
        assert_eq!(html.trim(), expected);
    }

    #[test]
    fn headings_have_anchors_of_their_own_and_the_prose_below_them() {
        let page = made("# One `two`\n\nfirst\n\n```\ncode\n```\n\n## Same\n\nsecond `third`\n\n## Same\n");
        let parts: Vec<_> = page.parts.iter().map(|part| (part.level, &*part.title, &*part.anchor, part.prose.trim())).collect();
        assert_eq!(parts, [(1, "One two", "one-two", "first"), (2, "Same", "same", "second third"), (2, "Same", "same-1", "")]);
        assert!(page.html.contains("<h2 id=\"same-1\">Same<a class=\"anchor\" href=\"#same-1\""), "{}", page.html);
    }

    #[test]
    fn comments_are_not_shown_and_tables_scroll_in_a_box() {
        let html = made("<!-- made -->\n\n| a |\n| --- |\n| b |\n").html;
        assert!(
            !html.contains("made") && html.contains("<div class=\"table\" tabindex=\"0\"><table>") && html.contains("</table>\n</div>"),
            "{html}"
        );
    }
}
