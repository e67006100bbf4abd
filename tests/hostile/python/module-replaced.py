# Takes apart all that tells how it ended.
# expect: script
import builtins, hero, json, os, sys, traceback
sys.modules["hero"] = None
hero._send = hero._write = None
json.dumps = traceback.print_exception = None
sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None
os._exit = lambda code: None
builtins.print = builtins.isinstance = None
raise ValueError("nobody hears it")
