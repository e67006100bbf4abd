"""What a job knows, and what it gives back.

args     what the caller gave, as Python values; {} if that was nothing
env      the job's env_vars; os.environ has them, too
job_id, caller_id, context_id, attempt
         who asked, and which attempt this is, from 1

result(value)             gives the result: None, a text, or anything that JSON can say; the last one counts
log(text, level="info")   writes a line of the log; levels are debug, info, warn and error

print() writes lines of the log with level info, and stderr those with level error.
"""

import json as _json
import os as _os
import re as _re
import sys as _sys
from _thread import allocate_lock as _allocate_lock

args = {}
env = {}
job_id = ""
caller_id = ""
context_id = 0
attempt = 1

_LEVELS = ("debug", "info", "warn", "error")
_channel = None
_lock = _allocate_lock()
_limits = {"result": 1 << 20, "log": 1 << 20}
# Only a number of so many digits can be beyond 64 bits.
_LONG_NUMBER = _re.compile(r"\d{19}")


class ResultError(ValueError):
    """Why a value cannot be a result."""


class LimitError(ResultError):
    """The result is too large."""


def result(value):
    """Gives the result of the job: None, a text, or anything that JSON can say. The last one counts."""
    if isinstance(value, str):
        written = _json.dumps(value, ensure_ascii=False)
        size = len(value.encode("utf-8", "surrogatepass"))
    else:
        try:
            written = _json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except RecursionError:
            raise ResultError("the result is nested too deeply") from None
        except (TypeError, ValueError) as error:
            raise ResultError(f"the result is nothing that JSON can say: {error}") from None
        if _LONG_NUMBER.search(written):
            _check_numbers(value, "result")
        size = len(written.encode("utf-8", "surrogatepass"))
    if size > _limits["result"]:
        raise LimitError(f"the result has more than {_limits['result_text']} (script_result)")
    _send("r", written)


def log(text, level="info"):
    """Writes a line of the log."""
    if level not in _LEVELS:
        raise ValueError(f"{level!r} is not a level: {', '.join(_LEVELS)}")
    for stream in (_sys.stdout, _sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass
    _send("l", _json.dumps([level, str(text)[: _limits["log"] + 1]], ensure_ascii=False))


def _check_numbers(value, path):
    if isinstance(value, bool):
        return
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise ResultError(f"{path} is beyond the integers of results (64 bits); give it as a text, or as a float")
    if isinstance(value, dict):
        for name, item in value.items():
            _check_numbers(item, f"{path}.{name}")
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            _check_numbers(item, f"{path}[{at}]")


def _send(kind, text):
    # A surrogate without its other half is no text.
    data = memoryview((kind + text + "\n").encode("utf-8", "replace"))
    with _lock:
        if _channel is None:
            raise RuntimeError("hero has no job: it works only in a job of the script type python")
        while data:
            data = data[_os.write(_channel, data) :]


def _begin(job, channel):
    global args, env, job_id, caller_id, context_id, attempt, _channel
    args, env = job["args"], job["env_vars"]
    job_id, caller_id = job["job_id"], job["caller_id"]
    context_id, attempt = job["context_id"], job["attempt"]
    _limits.update(job["limits"])
    _channel = channel
