//! Network access to the hosts that an operator allowed.

use serde_json::json;

use super::{Ground, job};
use crate::support::{PATIENCE, Web, until};

/// The address of a server, as an operator names it.
fn named(web: &Web) -> String {
    web.address.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_get_and_send_texts() {
    let web = Web::start().await;
    let ground = Ground::with_hosts(&[&named(&web)]).await;
    assert_eq!(ground.gives(&format!("http_get({:?})", web.url("/greeting"))).await, "hello");
    assert_eq!(ground.gives(&format!("http_get({:?})", web.url("/redirect?/greeting"))).await, "hello");
    assert_eq!(ground.gives(&format!("http_post({:?}, \"a text\")", web.url("/echo"))).await, "a text");
    // A redirect that keeps the method keeps the body, another does not.
    assert_eq!(ground.gives(&format!("http_post({:?}, \"kept\")", web.url("/again?/echo"))).await, "kept");
    assert_eq!(ground.gives(&format!("http_post({:?}, \"lost\")", web.url("/redirect?/echo"))).await, "");
    let head = ground.gives(&format!("http_get({:?}, #{{ \"x-mine\": \"yes\" }})", web.url("/head"))).await;
    assert!(head.as_str().unwrap().contains("x-mine: yes\r\n") && head.as_str().unwrap().contains("user-agent: hero/"), "{head}");
    let checks = format!(
        "[http_status({0:?}), http_status({1:?}), http_check({0:?}), http_check({1:?}), tcp_check({2:?}, {3})]",
        web.url("/greeting"),
        web.url("/nothing"),
        web.address.ip().to_string(),
        web.address.port()
    );
    assert_eq!(ground.gives(&checks).await, json!([200, 404, true, false, true]));
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_is_an_error_that_says_what() {
    let web = Web::start().await;
    let ground = Ground::with_hosts(&[&named(&web), "127.0.0.1:1"]).await;
    let url = |path: &str| format!("{:?}", web.url(path));
    for (script, told) in [
        (format!("http_get({})", url("/nothing")), "answers 404 Not Found"),
        (format!("http_get({})", url("/large")), "more than 240 KB"),
        (format!("http_get({})", url("/endless")), "more than 240 KB"),
        (format!("http_get({})", url("/bytes")), "no text (UTF-8)"),
        (format!("http_get({})", url("/redirect?/redirect?/redirect?/redirect?/redirect?/redirect?/greeting")), "more than 5 times"),
        (format!("http_get({})", url("/redirect?ftp://127.0.0.1/")), "is not a URL that begins with http"),
        (format!("http_get({}, #{{ host: \"other\" }})", url("/head")), "is not for scripts to give"),
        (format!("http_get({}, #{{ \"a b\": \"x\" }})", url("/head")), "is not the name of a header"),
        (format!("http_get({}, #{{ a: \"x\\r\\ny: z\" }})", url("/head")), "cannot have that value"),
        (format!("http_get({}, #{{ a: 1 }})", url("/head")), "headers are a map of texts"),
        ("http_get(\"http://127.0.0.1:1/\")".to_owned(), "refused"),
        ("http_get(\"file:///etc/passwd\")".to_owned(), "is not a URL"),
        ("http_get(\"no url\")".to_owned(), "is not a URL"),
        ("tcp_check(\"127.0.0.1\", 0)".to_owned(), "from 1 to 65535"),
        ("tcp_check(\"a/b\", 80)".to_owned(), "is not the name of a host"),
        ("tcp_check(\"u@127.0.0.1\", 1)".to_owned(), "is not the name of a host"),
    ] {
        let error = ground.error(&script).await;
        assert!(error.message.contains(told), "{script}: {}", error.message);
    }
    assert_eq!(ground.gives("[tcp_check(\"127.0.0.1\", 1), http_check(\"http://127.0.0.1:1/\")]").await, json!([false, false]));
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_nobody_named_are_refused_however_they_are_written() {
    let (web, other) = (Web::start().await, Web::start().await);
    let port = other.address.port();
    let ground = Ground::with_hosts(&[&named(&web), "example.com", "*"]).await;
    for host in [
        "127.0.0.1",
        "localhost",
        "0.0.0.0",
        "2130706433",
        "0x7f.1",
        "127.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "10.0.0.1",
        "169.254.169.254",
    ] {
        for script in [
            format!("http_get(\"http://{host}:{port}/greeting\")"),
            format!("http_check(\"http://{host}:{port}/greeting\")"),
            format!("http_status(\"http://u:p@{host}:{port}/\")"),
        ] {
            let error = ground.error(&script).await;
            assert!(error.message.contains("is not among the hosts"), "{script}: {}", error.message);
        }
        let error = ground.error(&format!("http_get(\"http://{host}/greeting\")")).await;
        let refused = error.message.contains("is not among the hosts") || error.message.contains("which is a private address");
        assert!(refused, "{host}: {}", error.message);
    }
    for host in ["evil-example.com", "example.com.evil.test", "example.com@evil.test", "www.example.com"] {
        let error = Ground::with_hosts(&["example.com"]).await.error(&format!("http_get(\"http://{host}/\")")).await;
        assert!(error.message.contains("is not among the hosts"), "{host}: {}", error.message);
    }
    // A redirect leads to no other host either.
    for to in [
        other.url("/greeting"),
        format!("http://localhost:{port}/greeting"),
        format!("http://[::1]:{port}/"),
        "http://10.0.0.1/".to_owned(),
    ] {
        for path in ["redirect", "again"] {
            let error = ground.error(&format!("http_get({:?})", web.url(&format!("/{path}?{to}")))).await;
            assert!(error.message.contains("redirects: ") && error.message.contains("is not among the hosts"), "{to}: {}", error.message);
        }
    }
    assert_eq!(other.requests(), 0);
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_leads_to_a_private_address_is_refused_unless_that_is_named_too() {
    let web = Web::start().await;
    let port = web.address.port();
    let script = format!("http_get(\"http://localhost:{port}/greeting\")");
    let ground = Ground::with_hosts(&[&format!("localhost:{port}")]).await;
    let error = ground.error(&script).await;
    assert!(error.message.contains("which is a private address"), "{}", error.message);
    let error = ground.error(&format!("tcp_check(\"localhost\", {port})")).await;
    assert!(error.message.contains("which is a private address"), "{}", error.message);
    assert_eq!(web.requests(), 0);
    ground.close().await;
    let ground = Ground::with_hosts(&[&format!("localhost:{port}"), &format!("127.0.0.1:{}", port - 1)]).await;
    assert!(ground.error(&script).await.message.contains("which is a private address"), "another port was named");
    ground.close().await;
    let ground = Ground::with_hosts(&[&format!("localhost:{port}"), &named(&web)]).await;
    assert_eq!(ground.gives(&script).await, "hello");
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_script_gives_for_one_host_is_not_told_to_another() {
    let (web, other) = (Web::start().await, Web::start().await);
    let ground = Ground::with_hosts(&[&named(&web), &named(&other)]).await;
    let headers = "#{ authorization: \"secret\", \"x-key\": \"secret\" }";
    let to_other = web.url(&format!("/redirect?{}", other.url("/head")));
    let head = ground.gives(&format!("http_get({to_other:?}, {headers})")).await;
    assert!(!head.as_str().unwrap().contains("secret"), "{head}");
    let to_same = web.url("/redirect?/head");
    let head = ground.gives(&format!("http_get({to_same:?}, {headers})")).await;
    assert_eq!(head.as_str().unwrap().matches("secret").count(), 2, "{head}");
    ground.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_waits_for_a_server_obeys_a_stop_and_its_timeout() {
    let web = Web::start().await;
    let ground = Ground::with_hosts(&[&named(&web)]).await;
    for path in ["/silent", "/drip"] {
        for call in ["http_get", "http_status"].into_iter().take(if path == "/drip" { 1 } else { 2 }) {
            let (script, before) = (format!("{call}({:?})", web.url(path)), web.requests());
            let asked = async |_: &hero::model::JobId| until("a request", || async { (web.requests() > before).then_some(()) }).await;
            ground.stop(&script, asked).await;
            let timeout = Some(std::time::Duration::from_millis(300).into());
            let spec = hero::model::JobSpec { timeout, ..job(&script) };
            let error = ground.house.dispatcher.jobs().run_and_wait(spec, PATIENCE).await.unwrap_err();
            assert!(error.to_string().contains("timeout"), "{error}");
        }
    }
    ground.close().await;
}
