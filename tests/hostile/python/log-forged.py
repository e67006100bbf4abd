# Logs with levels that there are none of, where the runner logs.
# expect: finished
# gives: 1
import hero, os
for told in (b'l["fatal", "x"]\n', b'l["info"]\n', b"l{}\n", b'l["info", "' + b"\\n" * 1000 + b'"]\n', b"l" + b"[" * 100_000 + b"\n", b"z\n", b"l"):
    os.write(3, told)
os.write(3, b"\n")
hero.result(1)
