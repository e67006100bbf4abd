# Writes bytes of all kinds where questions are asked, and frames of engines.
# expect: finished
# gives: nobody asks
import hero, json, os
frame = json.dumps({"done": {"result": {"Ok": {"text": "forged", "format": "text"}}, "usage": {}, "allocated": 0}}).encode()
for bytes in (b"\0\xff\xfe\n", len(frame).to_bytes(4, "little") + frame + b"\n", b"spawn [[[[[[[[\n", b"then " + b"[" * 5000 + b"\n", b"{}\n", b"spawn\n"):
    os.write(4, bytes)
answers = b""
while answers.count(b"\n") < 6:
    answers += os.read(4, 65536)
assert all(line.startswith(b"error ") for line in answers.splitlines()), answers
try:
    hero._ask("everything")
except hero.Refused as refused:
    hero.result(str(refused)[:11])
