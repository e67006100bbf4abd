"""Confines the fork of a job further than its zygote. Makes system calls for landlock: the standard library has none."""

import ctypes
import errno
import os
import signal
import struct

# These numbers are the same on every architecture.
CREATE, ADD, RESTRICT = 444, 445, 446
VERSION = 1
PATH_BENEATH = 1
PDEATHSIG = 1
GET_SECCOMP, SET_SECCOMP = 21, 22
FILTER = 2
# The number of `prctl` on the architectures that filter calls.
PRCTL = {"x86_64": 157, "aarch64": 167}

WRITE_FILE = 1 << 1
# Removing and making everything except devices.
CHANGE = 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12
MAKE_DEVICES = 1 << 6 | 1 << 11
REFER, TRUNCATE = 1 << 13, 1 << 14
# Neither signals to other processes nor their abstract sockets.
SCOPES = 1 << 0 | 1 << 1
# Everything below may be written to as far as this process may: a few devices.
DEVICES = "/dev"

libc = None
version = 0
devices = None
refusals = None


def call(number, *arguments):
    given = libc.syscall(ctypes.c_long(number), *arguments)
    if given < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"the job cannot be confined: {os.strerror(error)}")
    return given


def prepare():
    """Takes the steps that are possible before there is a job."""
    global libc, version, devices, refusals
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        version = call(CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION))
    except OSError:
        version = 0  # The kernel has no landlock, so nothing is restricted, and hero reports it.
    if version:
        devices = os.open(DEVICES, os.O_PATH | os.O_CLOEXEC)
    # If the calls of this process are not filtered, hero reports it, and there is nothing to add.
    if libc.prctl(GET_SECCOMP, 0, 0, 0, 0) == FILTER:
        refusals = filter_of(PRCTL[os.uname().machine])


def filter_of(prctl):
    """Returns a filter that refuses further confinement: rules and filters use uncounted kernel memory. `seccomp` is refused anyway."""
    load, equal, give = 0x20, 0x15, 0x06
    allowed, unknown, refused = 0x7FFF0000, 0x00050000 | errno.ENOSYS, 0x00050000 | errno.EPERM
    steps = [
        (load, 0, 0, 0),  # the number of the call
        (equal, 6, 0, CREATE),
        (equal, 5, 0, ADD),
        (equal, 4, 0, RESTRICT),
        (equal, 0, 2, prctl),
        (load, 0, 0, 16),  # its first argument
        (equal, 2, 0, SET_SECCOMP),
        (give, 0, 0, allowed),
        (give, 0, 0, unknown),
        (give, 0, 0, refused),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    # The pointer stays valid as long as `code` is kept.
    return struct.pack("@HP", len(steps), ctypes.addressof(code)), code


def restrict(directory, parent):
    """Lets this process only write in its directory, and reach no process outside of its job. It dies with its parent."""
    libc.prctl(PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(125)
    if version:
        restrict_files(directory)
    if refusals and libc.prctl(SET_SECCOMP, ctypes.c_ulong(FILTER), refusals[0], 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"the job cannot be confined: {os.strerror(error)}")


def restrict_files(directory):
    inside = WRITE_FILE | CHANGE | (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    attributes = struct.pack("=Q", inside | MAKE_DEVICES)
    if version >= 6:
        attributes += struct.pack("=QQ", 0, SCOPES)
    rules = call(CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    home = os.open(directory, os.O_PATH | os.O_CLOEXEC)
    add(rules, home, inside)
    add(rules, devices, WRITE_FILE)
    call(RESTRICT, ctypes.c_int(rules), ctypes.c_uint32(0))
    for descriptor in (home, devices, rules):
        os.close(descriptor)


def add(rules, path, access):
    rule = struct.pack("=Qi", access, path)
    call(ADD, ctypes.c_int(rules), ctypes.c_int(PATH_BENEATH), rule, ctypes.c_uint32(0))
