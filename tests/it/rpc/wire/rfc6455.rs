//! Frames by RFC 6455: the tests send a client's bytes, and check the replies of the server.

use super::readers::upgraded;
use super::*;

/// The replies of the server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ServerReply {
    Result(String),
    Error(i64),
    Pong(Vec<u8>),
    Close(u16),
}
use ServerReply::{Close, Pong};

const LAST: u8 = 0x80;
const MORE: u8 = 0;
const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// The maximum size of a request here.
const MAX_REQUEST_BYTES: usize = 100_000;

/// A frame of a client, masked, with the shortest length there is for it.
fn frame(first: u8, content: impl AsRef<[u8]>) -> Vec<u8> {
    const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
    let content = content.as_ref();
    let mut frame = vec![first];
    match content.len() {
        length @ 0..126 => frame.push(0x80 | u8::try_from(length).unwrap()),
        length @ 126..0x1_0000 => frame.extend([&[0xfe][..], &u16::try_from(length).unwrap().to_be_bytes()].concat()),
        length => frame.extend([&[0xff][..], &(length as u64).to_be_bytes()].concat()),
    }
    frame.extend(MASK);
    frame.extend(content.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// The head of a frame that announces so much, and one byte of it.
fn announced(length: u64) -> Vec<u8> {
    [&[LAST | TEXT, 0xff][..], &length.to_be_bytes(), &[0; 4], b"{"].concat()
}

fn close(code: u16, why: &[u8]) -> Vec<u8> {
    frame(LAST | CLOSE, [&code.to_be_bytes(), why].concat())
}

fn echo(text: &str) -> String {
    call(1, "echo", json!([text]))
}

fn result(text: &str) -> ServerReply {
    ServerReply::Result(text.to_owned())
}

/// Sent bytes, and the expected reply. If the reply is no close frame, the connection continues.
fn cases() -> Vec<(String, Vec<u8>, Vec<ServerReply>)> {
    let case = |name: &str, frames: &[Vec<u8>], said: &[ServerReply]| (name.to_owned(), frames.concat(), said.to_vec());
    let whole = |text: &str| frame(LAST | TEXT, echo(text));
    let hello = echo("hello");
    let umlaut = echo("ä").into_bytes();
    let (before, behind) = umlaut.split_at(umlaut.iter().position(|byte| *byte == 0xc3).unwrap() + 1);
    let mut unmasked = whole("hello");
    unmasked[1] &= 0x7f;
    let mut cases = vec![
        case("a text", &[whole("hello")], &[result("hello")]),
        case("a text with a length of 16 bits", &[whole(&"x".repeat(300))], &[result(&"x".repeat(300))]),
        case("a text with a length of 64 bits", &[whole(&"x".repeat(70_000))], &[result(&"x".repeat(70_000))]),
        case("two texts at once", &[whole("a"), whole("a")], &[result("a"), result("a")]),
        case("a binary message", &[frame(LAST | BINARY, &hello)], &[result("hello")]),
        case("an empty text", &[frame(LAST | TEXT, "")], &[ServerReply::Error(-32700)]),
        case(
            "a text in parts with an empty one, and a ping between",
            &[
                frame(MORE | TEXT, &hello[..5]),
                frame(LAST | PING, "between"),
                frame(MORE | CONTINUATION, ""),
                frame(LAST | CONTINUATION, &hello[5..]),
            ],
            &[result("hello"), Pong(b"between".to_vec())],
        ),
        case("a character cut by frames", &[frame(MORE | TEXT, before), frame(LAST | CONTINUATION, behind)], &[result("ä")]),
        case("a ping of nothing", &[frame(LAST | PING, "")], &[Pong(Vec::new())]),
        case("a ping of 125 bytes", &[frame(LAST | PING, [7; 125])], &[Pong(vec![7; 125])]),
        case("ten pings at once", &[0; 10].map(|_| frame(LAST | PING, "x")), &[0; 10].map(|_| Pong(b"x".to_vec()))),
        case("a pong that nobody asked for", &[frame(LAST | PONG, "x")], &[]),
        case("a message that is too large", &[frame(LAST | TEXT, echo(&"x".repeat(MAX_REQUEST_BYTES)))], &[ServerReply::Error(-32007)]),
        case("a length of 63 bits", &[announced(u64::MAX >> 1)], &[Close(1009)]),
        case("a length of 64 bits", &[announced(1 << 63)], &[Close(1002)]),
        case("no mask", &[unmasked], &[Close(1002)]),
        case("a ping of 126 bytes", &[frame(LAST | PING, [7; 126])], &[Close(1002)]),
        case("a ping in parts", &[frame(MORE | PING, "x")], &[Close(1002)]),
        case("a close frame in parts", &[frame(MORE | CLOSE, "")], &[Close(1002)]),
        case("a continuation of nothing", &[frame(LAST | CONTINUATION, &hello)], &[Close(1002)]),
        case("a message within a message", &[frame(MORE | TEXT, "{"), frame(LAST | TEXT, "}")], &[Close(1002)]),
        case("a text that is none", &[frame(LAST | TEXT, b"\xff\xfe")], &[Close(1007)]),
        case("a text that ends within a character", &[frame(LAST | TEXT, b"\xc3")], &[Close(1007)]),
        case("a text with half a surrogate", &[frame(LAST | TEXT, b"\xed\xa0\x80")], &[Close(1007)]),
        case("no text, cut by frames", &[frame(MORE | TEXT, b"\xc3"), frame(LAST | CONTINUATION, b"\xc3")], &[Close(1007)]),
        case("a close frame of nothing", &[frame(LAST | CLOSE, "")], &[Close(1000)]),
        case("a close frame with a reason", &[close(1000, "gone for ä walk".as_bytes())], &[Close(1000)]),
        case("a close frame with the longest reason", &[close(1000, &[b'x'; 123])], &[Close(1000)]),
        case("a close frame that is too long", &[close(1000, &[b'x'; 124])], &[Close(1002)]),
        case("a close frame with half a code", &[frame(LAST | CLOSE, [3])], &[Close(1002)]),
        case("a close frame with a reason that is no text", &[close(1000, b"\xff")], &[Close(1007)]),
        case("a close frame within a message", &[frame(MORE | TEXT, "{"), close(1001, b"")], &[Close(1001)]),
        case("a call behind a close frame", &[close(1000, b""), whole("late")], &[Close(1000)]),
    ];
    for bit in [0x40, 0x20, 0x10] {
        cases.push(case(&format!("the reserved bit {bit:#x}"), &[frame(LAST | bit | TEXT, &hello)], &[Close(1002)]));
    }
    for kind in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
        cases.push(case(&format!("a frame of the kind {kind}"), &[frame(LAST | kind, "")], &[Close(1002)]));
    }
    for code in [1001, 1002, 1003, 1007, 1011, 1014, 3000, 3999, 4000, 4999] {
        cases.push(case(&format!("a close frame with {code}"), &[close(code, b"")], &[Close(code)]));
    }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1100, 2000, 2999, 5000, 65_535] {
        cases.push(case(&format!("a close frame with {code}"), &[close(code, b"")], &[Close(1002)]));
    }
    cases
}

/// The next frame of the server, which is whole and has no mask. Pings of its own are passed over.
async fn hear(tcp: &mut TcpStream) -> ServerReply {
    loop {
        let first = tcp.read_u8().await.unwrap();
        let length = match tcp.read_u8().await.unwrap() {
            126 => u64::from(tcp.read_u16().await.unwrap()),
            127 => tcp.read_u64().await.unwrap(),
            length => u64::from(length),
        };
        let mut content = vec![0; usize::try_from(length).unwrap()];
        tcp.read_exact(&mut content).await.unwrap();
        return match first ^ LAST {
            PING => continue,
            PONG => Pong(content),
            CLOSE => Close(u16::from_be_bytes([content[0], content[1]])),
            TEXT => {
                let answer: Value = serde_json::from_slice(&content).unwrap();
                let error = answer["error"]["code"].as_i64().map(ServerReply::Error);
                error.unwrap_or_else(|| result(answer["result"].as_str().unwrap_or_else(|| panic!("{answer}"))))
            }
            _ => panic!("a frame that begins with {first:#x}: {content:?}"),
        };
    }
}

#[tokio::test]
async fn to_each_frame_the_server_says_what_rfc_6455_wants() {
    let server = Server::with(|settings| settings.limits.request_bytes = u32::try_from(MAX_REQUEST_BYTES).unwrap()).await;
    let answered = |(name, sent, mut expected): (String, Vec<u8>, Vec<ServerReply>)| {
        let server = &server;
        async move {
            let mut tcp = upgraded(server).await;
            let closes = matches!(expected[..], [.., Close(_)]);
            if !closes {
                expected.push(Pong(b"on".to_vec()));
            }
            tcp.write_all(&sent).await.unwrap();
            let mut said = Vec::new();
            while said.len() + usize::from(!closes) < expected.len() {
                said.push(hear(&mut tcp).await);
            }
            if closes {
                // Nothing follows, and the server closes first.
                let mut rest = Vec::new();
                tcp.read_to_end(&mut rest).await.unwrap();
                assert_eq!(rest, b"", "{name}");
            } else {
                tcp.write_all(&frame(LAST | PING, "on")).await.unwrap();
                said.push(hear(&mut tcp).await);
            }
            // Answers and pongs overtake each other.
            expected.sort();
            said.sort();
            assert_eq!(said, expected, "{name}");
        }
    };
    let all = futures_util::future::join_all(cases().into_iter().map(answered));
    tokio::time::timeout(ALIVE, all).await.expect("each is answered");
    assert_alive(&mut server.websocket().await).await;
}

#[tokio::test]
async fn of_more_pings_at_once_than_pongs_are_kept_the_newest_is_answered() {
    let server = Server::start().await;
    let mut tcp = upgraded(&server).await;
    let pings = [frame(LAST | PING, "old").repeat(1000), frame(LAST | PING, "newest")].concat();
    tcp.write_all(&pings).await.unwrap();
    let newest = async { while hear(&mut tcp).await != Pong(b"newest".to_vec()) {} };
    tokio::time::timeout(ALIVE, newest).await.expect("the newest is answered");
}
