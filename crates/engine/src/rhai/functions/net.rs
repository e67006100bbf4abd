use std::collections::BTreeMap;

use rhai::{Dynamic, INT, ImmutableString, Map, NativeCallContext};

use super::asking::{ask, json};
use super::definition::{Definition, Functions};
use crate::NetCall;
use crate::rhai::convert;
use crate::rhai::native::{Native, failed};

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "tcp_check(host: string, port: int) -> bool",
        description: "Returns whether a server accepts connections within 5 seconds. As for all network functions, the operator must have named the host and port for the pool (`hosts`).",
        errors: "the operator did not name this host with this port, or its name leads to a private address that the operator did not name.",
        example: "tcp_check(args.host, args.port)",
        result: "true",
    },
    Definition {
        signature: "http_check(url: string) -> bool",
        description: "Returns whether a GET succeeds (a status below 400).",
        errors: "the operator did not name this host.",
        example: "http_check(args.url + \"/no-such-page\")",
        result: "false",
    },
    Definition {
        signature: "http_status(url: string) -> int",
        description: "Returns the status of the response to a GET, after at most five redirects.",
        errors: "the operator did not name this host or one that it redirects to, or there is no response within 30 seconds.",
        example: "http_status(args.url + \"/no-such-page\")",
        result: "404",
    },
    Definition {
        signature: "http_get(url: string, headers?: map) -> string",
        description: "Returns the text of the response to a GET. Follows at most five redirects, to hosts that the operator named.",
        errors: "the operator did not name this host or one that it redirects to, there is no response within 30 seconds, the status is 400 or above, or the response is not UTF-8 text or has more than 240 KB.",
        example: "http_get(args.url + \"/greeting\", #{ accept: \"text/plain\" })",
        result: r#""hello""#,
    },
    Definition {
        signature: "http_post(url: string, body: string, headers?: map) -> string",
        description: "Sends a text by POST, and returns the text of the response. The header `content-type` has the type of the text: `text/plain` by default.",
        errors: "the same as those of `http_get`.",
        example: "http_post(args.url + \"/echo\", #{ a: 1 }.to_json(), #{ \"content-type\": \"application/json\" })",
        result: r#""{\"a\":1}""#,
    },
];

pub(super) fn add(functions: &mut Functions<'_>) {
    let run = functions.run();
    functions.add("tcp_check", move |context: NativeCallContext, host: ImmutableString, port: INT| -> Native<Dynamic> {
        let port = u16::try_from(port).ok().filter(|port| *port > 0);
        let port = port.ok_or_else(|| failed(&context, "a port is a number from 1 to 65535"))?;
        ask(&context, &run, NetCall::TcpCheck { host: host.into_owned(), port })
    });
    let run = functions.run();
    functions.add("http_check", move |context: NativeCallContext, url: ImmutableString| {
        ask(&context, &run, NetCall::HttpCheck { url: url.into_owned() })
    });
    let run = functions.run();
    functions.add("http_status", move |context: NativeCallContext, url: ImmutableString| {
        ask(&context, &run, NetCall::HttpStatus { url: url.into_owned() })
    });
    let run = functions.run();
    functions.add("http_get", move |context: NativeCallContext, url: ImmutableString| {
        ask(&context, &run, NetCall::HttpGet { url: url.into_owned(), headers: BTreeMap::new() })
    });
    let run = functions.run();
    functions.add("http_get", move |context: NativeCallContext, url: ImmutableString, headers: Map| {
        let headers = given(&context, &headers)?;
        ask(&context, &run, NetCall::HttpGet { url: url.into_owned(), headers })
    });
    let run = functions.run();
    functions.add("http_post", move |context: NativeCallContext, url: ImmutableString, body: ImmutableString| {
        let (url, body) = (url.into_owned(), body.into_owned());
        ask(&context, &run, NetCall::HttpPost { url, body, headers: BTreeMap::new() })
    });
    let run = functions.run();
    functions.add("http_post", move |context: NativeCallContext, url: ImmutableString, body: ImmutableString, headers: Map| {
        let (url, body, headers) = (url.into_owned(), body.into_owned(), given(&context, &headers)?);
        ask(&context, &run, NetCall::HttpPost { url, body, headers })
    });
}

/// Headers by their names.
fn given(context: &NativeCallContext<'_>, headers: &Map) -> Native<BTreeMap<String, String>> {
    json(context, |cap| convert::json_of_map(headers, cap))
        .map_err(|_| failed(context, "headers are a map of texts, such as #{ accept: \"text/plain\" }"))
}
