"""The input of a job, and functions for its output.

args     the job's args as Python values; {} if it has none
env      the job's env_vars; os.environ has them, too
job_id, caller_id, context_id, attempt
         ids of the job, its creator and its context; the number of the attempt, from 1
inputs   the outputs of the job's prerequisites by their names (by their ids if they have no names); requested at first use
slot     the time at which the job was due, as text, if it belongs to a schedule, else None; requested at first use

result(value)             sets the result: None, a text, or any JSON value; the last one counts
log(text, level="info")   writes a log line; levels are debug, info, warn and error
progress(value, text="")  reports the job's progress: a number, usually percent, and a text
spawn(spec)               creates a child of the job and returns its id; it runs when this script has ended
then(spec)                creates a continuation, which runs when the job and all its descendants have ended

A spec has the parameters of create_job, as a dict or as keyword arguments: script, and any of script_type, args, name and others.
A call that the server refuses raises Refused, with the server's message.

print() writes log lines with level info, and stderr lines with level error.
"""

import fcntl as _fcntl
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
# The descriptor for host calls, and the process that may make them.
_asks, _asker = None, None
_ask_lock = _allocate_lock()
_is_interrupted = False
_limits = {"result": 1 << 20, "log": 1 << 20}
_LONGEST_TEXT = 4096
# Only a number with this many digits can exceed 64 bits.
_LONG_NUMBER = _re.compile(r"\d{19}")


class ResultError(ValueError):
    """The value cannot be a result."""


class LimitError(ResultError):
    """The result is too large."""


class Refused(RuntimeError):
    """The server refused a call. The message is the server's."""


def result(value):
    """Sets the result of the job: None, a text, or any JSON value. The last one counts."""
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
            _check_numbers(value, "result", ResultError)
        size = len(written.encode("utf-8", "surrogatepass"))
    if size > _limits["result"]:
        raise LimitError(f"the result has more than {_limits['result_text']} (script_result)")
    _send("r", written)


def log(text, level="info"):
    """Writes a log line."""
    if level not in _LEVELS:
        raise ValueError(f"{level!r} is not a level: {', '.join(_LEVELS)}")
    for stream in (_sys.stdout, _sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # The script has replaced or closed it.
    _send("l", _json.dumps([level, str(text)[: _limits["log"] + 1]], ensure_ascii=False))


def progress(value, text=""):
    """Reports the job's progress: a number, usually percent, and a text. Of many reports in a second, the newest counts."""
    wrong = "a progress is a finite number, usually percent, and a text"
    if isinstance(value, (str, bytes)):
        raise ValueError(wrong)
    try:
        value = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(wrong) from None
    if not float("-inf") < value < float("inf"):
        raise ValueError(wrong)
    text = _re.sub(r"\s", " ", str(text)[:_LONGEST_TEXT])
    with _ask_lock:
        _can_ask()
        _write(_asks, f"progress {value!r} {text}\n")


def spawn(spec=None, /, **more):
    """Creates a child of the job and returns its id. It runs when this script has ended, unless the script fails."""
    return _ask("spawn", _spec(spec, more))


def then(spec=None, /, **more):
    """Creates a continuation of the job and returns its id. It runs when the job and all descendants have ended, even if they failed."""
    return _ask("then", _spec(spec, more))


def __getattr__(name):
    if name == "inputs":
        value = _json.loads(_ask(name))
    elif name == "slot":
        value = _ask(name) or None
    else:
        raise AttributeError(f"module 'hero' has no attribute {name!r}")
    globals()[name] = value
    return value


def _check_numbers(value, path, wrong):
    if isinstance(value, bool):
        return
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise wrong(f"{path} is beyond the integers of 64 bits; give it as a text, or as a float")
    if isinstance(value, dict):
        for name, item in value.items():
            _check_numbers(item, f"{path}.{name}", wrong)
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            _check_numbers(item, f"{path}[{at}]", wrong)


def _spec(spec, more):
    if not isinstance(spec, (dict, type(None))):
        raise TypeError(f"a job is given as a dict, or by keyword arguments, not as {type(spec).__name__}")
    spec = {**(spec or {}), **more}
    try:
        written = _json.dumps(spec, allow_nan=False)
    except RecursionError:
        raise ValueError("the job is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"the job is nothing that JSON can say: {error}") from None
    if _LONG_NUMBER.search(written):
        _check_numbers(spec, "job", ValueError)
    return written


def _ask(word, text=""):
    """Makes a host call and returns the answer."""
    global _is_interrupted
    with _ask_lock:
        _can_ask()
        if not _is_own_process():
            raise RuntimeError("only the job's own process can ask the server, not one that it has started")
        if _is_interrupted:
            raise RuntimeError("nothing can be asked any more, because an exception came while the job waited for an answer")
        _is_interrupted = True
        _write(_asks, f"{word} {text}\n")
        answer = bytearray()
        while not answer.endswith(b"\n"):
            piece = _os.read(_asks, 1 << 16)
            if not piece:
                raise Refused("nobody answers")
            answer += piece
        _is_interrupted = False
    said, _, value = answer.decode("utf-8", "replace")[:-1].partition(" ")
    if said != "ok":
        raise Refused(value)
    return value


def _can_ask():
    if _asks is None:
        raise RuntimeError("hero has no job: it works only in a job of the script type python")


def _write(descriptor, text):
    # An unpaired surrogate is no valid text.
    data = memoryview(text.encode("utf-8", "replace"))
    while data:
        data = data[_os.write(descriptor, data) :]


def _send(kind, text):
    with _lock:
        if _channel is None:
            raise RuntimeError("hero has no job: it works only in a job of the script type python")
        # The lock belongs to the whole process, not to its forks, and ends with it.
        _fcntl.lockf(_channel, _fcntl.LOCK_EX)
        try:
            # A process that ended in the middle of a message left it unterminated.
            _write(_channel, f"\n{kind}{text}\n")
        finally:
            _fcntl.lockf(_channel, _fcntl.LOCK_UN)


def _is_own_process():
    return _os.getpid() == _asker


def _forked():
    # Another thread may have held the locks.
    global _lock, _ask_lock
    _lock, _ask_lock = _allocate_lock(), _allocate_lock()


def _begin(job, channel, asks):
    global args, env, job_id, caller_id, context_id, attempt, _channel, _asks, _asker
    args, env = job["args"], job["env_vars"]
    job_id, caller_id = job["job_id"], job["caller_id"]
    context_id, attempt = job["context_id"], job["attempt"]
    _limits.update(job["limits"])
    _channel, _asks, _asker = channel, asks, _os.getpid()


_os.register_at_fork(after_in_child=_forked)
