# Sends descriptors to whoever answers questions, a thousand times.
# expect: script
# says: PermissionError
import hero, socket
questions = socket.socket(fileno=4)
for _ in range(1000):
    socket.send_fds(questions, [b"slot\n"], [0, 1, 2, 3])
    answer = b""
    while not answer.endswith(b"\n"):
        answer += questions.recv(1000)
    assert answer == b"ok\n", answer
questions.detach()
