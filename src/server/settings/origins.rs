//! Origins and hosts that may use the server. Refuses those that no request can have.

use http::uri::Authority;

use super::Settings;
use crate::model::nearest;

/// Describes the first origin or host that can never match, and the correct spelling.
pub(super) fn fault(settings: &Settings, said: &dyn Fn(&str) -> String) -> Option<String> {
    let fault = |name: &str, texts: &[String], check: fn(&str) -> Result<(), String>| {
        texts.iter().find_map(|text| Some(format!("{}: {text:?} {}", said(name), check(text).err()?)))
    };
    fault("allowed_origins", &settings.allowed_origins, origin).or_else(|| fault("allowed_hosts", &settings.allowed_hosts, host))
}

/// Returns a warning for each setting that admits every origin or host.
pub(super) fn warnings(settings: &Settings) -> impl Iterator<Item = String> {
    let all = |texts: &[String]| texts.iter().any(|text| text == "*");
    let origins = all(&settings.allowed_origins).then_some(
        "ANY WEB PAGE MAY RUN SCRIPTS HERE, because allowed_origins is `*`: also one that somebody who can reach this server only visits",
    );
    let hosts = all(&settings.allowed_hosts).then_some(
        "ANY NAME LEADS HERE, because allowed_hosts is `*`: a web page whose name somebody points at this address may run scripts here",
    );
    origins.into_iter().chain(hosts).map(str::to_owned)
}

/// Compares as the server does: without case and without trailing slashes.
fn origin(text: &str) -> Result<(), String> {
    if text == "*" {
        return Ok(());
    }
    no_pattern(text)?;
    if text.eq_ignore_ascii_case("null") {
        return Err("is what sandboxed frames and local files send, which never pass; serve the page from an address".into());
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(format!("has no scheme, but every Origin has; write https://{text}"));
    };
    let trimmed = rest.trim_end_matches('/');
    let (bare, more) = trimmed.split_at(trimmed.find(['/', '?', '#']).unwrap_or(trimmed.len()));
    let (scheme, authority) = (scheme.to_ascii_lowercase(), name(bare)?);
    if !more.is_empty() {
        return Err(format!("has a path, but no Origin has; write {scheme}://{bare}"));
    }
    match (scheme.as_str(), authority.port_u16()) {
        ("ws" | "wss", _) => Err(format!("is no address of a web page; write {}://{bare}", scheme.replace("ws", "http"))),
        ("http", Some(80)) | ("https", Some(443)) => {
            Err(format!("names the port that browsers leave out; write {scheme}://{}", authority.host()))
        }
        _ => page(&scheme).map_err(|why| format!("{why}; write https://{bare}")),
    }
}

/// Checks whether pages can have this scheme. Extensions and programs with an embedded browser (`tauri`, `capacitor`,
/// `vscode-webview`) have schemes of their own, which cannot all be listed. So only schemes are refused that no page
/// has, or that look like a typing error.
fn page(scheme: &str) -> Result<(), String> {
    const PAGES: [&str; 2] = ["https", "http"];
    const OTHERS: [&str; 18] = [
        "about",
        "blob",
        "data",
        "file",
        "filesystem",
        "ftp",
        "ftps",
        "git",
        "javascript",
        "mailto",
        "redis",
        "rediss",
        "sftp",
        "ssh",
        "tcp",
        "unix",
        "view-source",
        "valkey",
    ];
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_lowercase())
        && scheme.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte));
    if OTHERS.contains(&scheme) || !is_scheme {
        return Err(format!("is no address of a web page: no browser sends an Origin with {scheme}"));
    }
    match nearest(scheme, PAGES).filter(|page| *page != scheme) {
        Some(near) => Err(format!("has the scheme {scheme}, but pages have {near}")),
        None => Ok(()),
    }
}

fn host(text: &str) -> Result<(), String> {
    if text == "*" {
        return Ok(());
    }
    no_pattern(text)?;
    if let Some((_, rest)) = text.split_once("://") {
        let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
        return Err(format!("has a scheme, but no Host has; write {rest}"));
    }
    let trimmed = text.trim_end_matches('/');
    if let Some(at) = trimmed.find(['/', '?', '#']) {
        return Err(format!("has a path, but no Host has; write {}", &trimmed[..at]));
    }
    if trimmed.parse::<std::net::Ipv6Addr>().is_ok() {
        return Err(format!("lacks its brackets; write [{trimmed}]"));
    }
    name(trimmed).map(drop)
}

fn no_pattern(text: &str) -> Result<(), String> {
    if text.contains('*') {
        return Err("is a pattern, and there are none; name each, or `*` alone for all".into());
    }
    Ok(())
}

/// Parses a host with or without a port, as in a `Host` or `Origin` header.
fn name(text: &str) -> Result<Authority, String> {
    if !text.is_ascii() {
        return Err("is not ASCII, as what is sent always is; write its xn-- form".into());
    }
    if text.contains('@') {
        return Err("names a user, which is never sent; write what is behind the @".into());
    }
    let authority: Authority = text.parse().map_err(|_| "is no name of a host".to_owned())?;
    let port = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
    if authority.host().is_empty() || !(port.is_empty() || authority.port_u16().is_some_and(|number| format!(":{number}") == port)) {
        return Err("is no name of a host".into());
    }
    Ok(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_can_send_is_taken() {
        for good in [
            "*",
            "https://app.example",
            "http://app.example:3000/",
            "HTTPS://App.Example",
            "http://[2001:db8::1]:81",
            "tauri://localhost",
            "chrome-extension://abcdef",
            "moz-extension://0f3c",
            "safari-web-extension://0F3C",
        ] {
            assert_eq!(origin(good), Ok(()), "{good}");
        }
        for good in ["*", "hero.example", "Hero.Example:8700", "hero.example/", "[2001:db8::1]", "192.0.2.7", "hero"] {
            assert_eq!(host(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn what_can_never_match_is_refused_with_what_to_write() {
        for (bad, why) in [
            ("app.example", "write https://app.example"),
            ("localhost:3000", "write https://localhost:3000"),
            ("https://app.example/app", "write https://app.example"),
            ("https://app.example?x", "has a path"),
            ("https://*.example", "there are none"),
            ("https://app.example:443", "write https://app.example"),
            ("http://app.example:80/", "write http://app.example"),
            ("wss://app.example:8700", "write https://app.example:8700"),
            ("ftp://app.example", "no browser sends an Origin with ftp; write https://app.example"),
            ("redis://app.example", "no browser sends"),
            ("file://app.example", "no browser sends"),
            ("htps://app.example", "pages have https; write https://app.example"),
            ("-x://app.example", "no browser sends"),
            ("https://me@app.example", "names a user"),
            ("https://münchen.example", "xn--"),
            ("https://", "is no name"),
            ("file:///", "is no name"),
            ("https://app.example:", "is no name"),
            ("https://app.example:99999", "is no name"),
            ("https://app example", "is no name"),
            ("null", "never pass"),
        ] {
            assert!(origin(bad).is_err_and(|error| error.contains(why)), "{bad}: {:?}", origin(bad));
        }
        for (bad, why) in [
            ("https://hero.example/", "write hero.example"),
            ("hero.example/app", "write hero.example"),
            ("*.example", "there are none"),
            ("2001:db8::1", "write [2001:db8::1]"),
            ("me@hero.example", "names a user"),
            ("hero.example:x", "is no name"),
            ("hero example", "is no name"),
        ] {
            assert!(host(bad).is_err_and(|error| error.contains(why)), "{bad}: {:?}", host(bad));
        }
    }
}
