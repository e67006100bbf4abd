"""Runs scripts of jobs: `runner.py run` runs the one in the current directory, `runner.py serve` runs one after another, each in a fork."""

import atexit
import builtins
import gc
import importlib.util
import json
import linecache
import os
import sys
import traceback

# The descriptors of the messages to hero, and of host calls.
CHANNEL, ASKS = 3, 4
SCRIPT = "script.py"
LONGEST_MESSAGE = 2000
LONGEST_FUNCTION = 200
MOST_FUNCTIONS = 30


def beside(name):
    """Returns the module in a file beside this one. An isolated Python does not search there."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hero = sys.modules["hero"] = beside("hero")


def run(job):
    """Runs the script of a job in the current directory, and returns the exit code."""
    os.environ.clear()
    os.environ.update(job["environment"])
    # Some editors write a byte order mark before the text.
    source = job["script"].removeprefix("\ufeff")
    hero._begin(job, CHANNEL, ASKS)
    sys.argv = [SCRIPT]
    main = type(sys)("__main__")
    main.__file__ = SCRIPT
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    linecache.cache[SCRIPT] = (len(source), None, source.splitlines(True), SCRIPT)
    try:
        exec(compile(source, SCRIPT, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as end:
        return leave(main, end.code)
    except BaseException as error:
        fail(error)
        return leave(main, 1)
    return leave(main, 0)


def streams():
    """Makes printed lines appear in the log as soon as they are complete."""
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        stream = open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def leave(main, code):
    """Ends like Python, but without freeing memory that this process shares with others. Returns the exit code."""
    if code is None:
        code = 0
    elif not isinstance(code, int):
        quietly(lambda: print(code, file=sys.stderr))
        code = 1
    if "threading" in sys.modules:
        quietly(lambda: sys.modules["threading"]._shutdown())
    quietly(atexit._run_exitfuncs)
    # Flushes files that the script left open.
    main.__dict__.clear()
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        quietly(lambda: stream.flush())
    return code & 0xFF


def quietly(work):
    """Runs code that may fail because of changes that the script has made."""
    try:
        work()
    except BaseException:
        pass


def fail(error):
    """Reports an error with its place: in the log for people, and to hero. Child processes leave the latter to their parent."""
    try:
        tell(error)
    except BaseException:
        if not hero._is_own_process():
            return
        # The script has replaced code that the report needs, or there is no memory.
        told = {"message": type(error).__name__, "line": None, "column": None, "stack": [], "limit": False}
        quietly(lambda: hero._send("e", json.dumps(told)))


def tell(error):
    frames = error.__traceback__ and error.__traceback__.tb_next
    error.__traceback__ = frames
    try:
        sys.stdout.flush()
        traceback.print_exception(type(error), error, frames)
        sys.stderr.flush()
    except Exception:
        pass
    if not hero._is_own_process():
        return
    line, column, stack = None, None, []
    for frame, number in traceback.walk_tb(frames):
        code = frame.f_code
        in_script = code.co_filename == SCRIPT
        if in_script:
            line = number
        if code.co_name != "<module>" and code.co_filename != hero.__file__:
            where = f"line {number}" if in_script else f"{os.path.basename(code.co_filename)}:{number}"
            stack.append(f"{excerpt(code.co_name, LONGEST_FUNCTION)} ({excerpt(where, LONGEST_FUNCTION)})")
    if isinstance(error, SyntaxError) and error.filename == SCRIPT:
        line, column = error.lineno, error.offset
    else:
        column = column_of(frames)
    told = {"message": message(error), "line": place(line), "column": place(column), "stack": stack[::-1][:MOST_FUNCTIONS]}
    told["limit"] = isinstance(error, hero.LimitError)
    hero._send("e", json.dumps(told, ensure_ascii=False))


def place(number):
    """Returns a line or a column, if it is valid. A script may raise syntax errors itself."""
    return number if isinstance(number, int) and 0 < number < 1 << 31 else None


def column_of(frames):
    """Returns the column of the innermost place in the script, if this Python version has it."""
    column = None
    while frames is not None:
        code = frames.tb_frame.f_code
        if code.co_filename == SCRIPT and hasattr(code, "co_positions"):
            places = list(code.co_positions())
            found = places[frames.tb_lasti // 2] if frames.tb_lasti // 2 < len(places) else (None,) * 4
            column = None if found[2] is None else found[2] + 1
        frames = frames.tb_next
    return column


def excerpt(text, characters):
    """Returns the beginning of a text. A mark at the cut is how a part of a secret is recognised."""
    return text if len(text) <= characters else text[:characters] + "…"


def message(error):
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ in ("builtins", "__main__", "hero") else f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(error, hero.ResultError):
        return excerpt(str(error), LONGEST_MESSAGE)
    try:
        text = error.msg if isinstance(error, SyntaxError) and error.msg else str(error)
    except BaseException:
        text = "(its text cannot be made)"
    return excerpt(f"{name}: {text}" if text else name, LONGEST_MESSAGE)


def serve():
    """Forks for each job, and reports how it ended. Returns the job in the fork, and None when the socket is closed."""
    import socket

    control = socket.socket(fileno=CHANNEL)
    # The descriptor numbers of jobs must be free for them.
    while os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) < ASKS:
        pass
    confine = beside("confine")
    confine.prepare()
    streams()
    warm_up()
    # Existing objects stay: the forks share their memory as long as nobody writes to it.
    gc.collect()
    gc.freeze()
    control.send(b"ready")
    zygote = os.getpid()
    while True:
        directory, descriptors, _, _ = socket.recv_fds(control, 4096, 5)
        if not directory:
            return None
        reap()
        child = os.fork()
        if child == 0:
            # The job gets neither the session nor the socket of the zygote.
            os.setsid()
            control.detach()
            out, err, channel, asks, file = descriptors
            for descriptor, number in ((out, 1), (err, 2), (channel, CHANNEL), (asks, ASKS)):
                os.dup2(descriptor, number)
                os.close(descriptor)
            try:
                confine.restrict(os.fsdecode(directory), zygote)
            except OSError as error:
                os.write(2, f"hero exec: {error}\n".encode())
                os._exit(125)
            os.chdir(directory)
            job = os.pread(file, os.fstat(file).st_size, 0)
            os.close(file)
            return json.loads(job.decode())
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(str(child).encode())
        # A job can also leave orphans that become children of this process.
        ended = None
        while ended != child:
            ended, status, usage = os.wait4(-1, 0)
        time = int((usage.ru_utime + usage.ru_stime) * 1_000_000)
        control.send(f"{status} {time} {usage.ru_maxrss * 1024}".encode())


def reap():
    """Reaps orphans of earlier jobs that became children of this process."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def warm_up():
    """Runs the steps of each job once, so that forks share the memory that they need."""
    kept = dict(os.environ)
    job = json.loads('{"environment": {"A": "b"}, "args": {"a": [1, 2.5, null]}, "script": "import hero"}')
    os.environ.clear()
    os.environ.update(job["environment"])
    exec(compile(job["script"], SCRIPT, "exec", dont_inherit=True), {"__builtins__": builtins})
    os.environ.clear()
    os.environ.update(kept)


def begun():
    """Returns the job of a process that was started for it."""
    with open("job.json", encoding="utf-8") as file:
        job = json.load(file)
    os.unlink("job.json")
    streams()
    return job


if __name__ == "__main__":
    leave_with = os._exit
    job = begun() if sys.argv[1] == "run" else serve()
    if job is not None:
        try:
            code = run(job)
        except BaseException:
            code = 1  # The script has destroyed something that was still needed.
        leave_with(code)
