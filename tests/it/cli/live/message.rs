//! `hero message`.

use super::Server;

#[test]
fn a_message_comes_from_stdin_and_is_no_longer_than_one_may_be() {
    let server = Server::start();
    let sent = server.feed(&["message", "send", "-", "--to", "here"], "from\nstdin\n");
    assert_eq!(sent.code, 0, "{}", sent.err);
    assert_eq!(server.json(&["message", "show", sent.out.trim()])["message"], "from\nstdin\n");
    let long = server.feed(&["message", "send", "-", "--to", "here"], &"x".repeat((1 << 20) + 1));
    assert!(long.code == 1 && long.err.contains("the message from stdin has more than 1 MB"), "{} {}", long.code, long.err);
    let twice = server.run(&["message", "send", "-", "--jobs", "-", "--to", "here"]);
    assert!(twice.code == 2 && twice.err.contains("only one of"), "{} {}", twice.code, twice.err);
}
