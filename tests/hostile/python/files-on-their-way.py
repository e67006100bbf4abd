# Sends files without names to itself, so that nobody has them open.
# expect: script
# says: PermissionError
import array, os, socket
here, there = socket.socketpair()
file = os.open("file", os.O_CREAT | os.O_RDWR)
here.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))])
