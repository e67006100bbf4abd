# Tells in every way what it was given in confidence.
# env: {"TOKEN": "hunter-two-hunter-two"}
# expect: script
import hero, os, sys
token = hero.env["TOKEN"]
print(token)
print("before", token, "behind", file=sys.stderr)
hero.log(token, level="warn")
os.write(1, token.encode() + b"\n")
hero.progress(1, token)
class Mine(Exception):
    pass
Mine.__qualname__ = token
raise Mine(f"it is {token}")
