"""Gets each peer ready beside this file, and says why one cannot be."""
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import typing
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Where peers are built: beside what hero is built into, so that `make clean` removes them.
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target")).resolve() / "peers"
INSTALL = 1800  # seconds


def run(*command, cwd=HERE):
    subprocess.run(command, cwd=cwd, check=True, timeout=INSTALL, stdout=sys.stderr)


def bullmq():
    # `npm ci` needs the optional native parts of every platform in the lock file; `npm install` takes the locked
    # versions without them.
    if not (HERE / "node_modules" / "bullmq").is_dir():
        run("npm", "install", "--no-audit", "--no-fund", "--no-save", "--omit=optional", "--silent")


def dramatiq():
    if not (HERE / "venv" / "bin" / "dramatiq").exists():
        run(sys.executable, "-m", "venv", "venv")
        run("venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", "requirements.lock")


def asynq():
    got = subprocess.run(["go", "mod", "download"], cwd=HERE / "asynq", stderr=subprocess.PIPE, text=True, timeout=INSTALL)
    if got.returncode:
        return f"go cannot get its modules: {got.stderr.strip().splitlines()[-1]}"
    run("go", "build", "-o", built("asynq"), ".", cwd=HERE / "asynq")
    return None


def rust(name):
    run("cargo", "build", "--quiet", "--locked", "--release", "--manifest-path", "rust/Cargo.toml", "--target-dir", str(TARGET),
        "--features", name, "--bin", name)


def built(name):
    """The program of a peer that is compiled."""
    return str(TARGET / "release" / name)


def said(*command):
    return subprocess.run(command, cwd=HERE, check=True, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()


def locked(file, before):
    """The version that follows this in a file that pins it."""
    return re.search(re.escape(before) + r"[^0-9]*([0-9.]+)", (HERE / file).read_text()).group(1)


@dataclasses.dataclass
class Needs:
    """What a peer needs: programs, the packages of Debian that have them, and a step that gets the rest, or says why not."""
    programs: list
    packages: str
    ready: typing.Callable
    version: typing.Callable


PEERS = {
    "bullmq": Needs(["node", "npm"], "nodejs npm", bullmq, lambda: locked("package-lock.json", '"node_modules/bullmq"')),
    "dramatiq": Needs(["python3"], "python3-venv", dramatiq, lambda: locked("requirements.lock", "dramatiq==")),
    "sidekiq": Needs(["ruby", "sidekiq"], "ruby-sidekiq", lambda: None, lambda: said("sidekiq", "--version").split()[-1]),
    "asynq": Needs(["go"], "golang-go", asynq, lambda: locked("asynq/go.mod", "hibiken/asynq")),
    "bullmq-rust": Needs(["cargo"], "cargo", lambda: rust("bullmq"), lambda: locked("rust/Cargo.lock", 'name = "bullmq-official"')),
    "apalis": Needs(["cargo"], "cargo", lambda: rust("apalis"), lambda: locked("rust/Cargo.lock", 'name = "apalis-redis"')),
}


def reason_against(key):
    """Why a peer cannot be measured; nothing if it is ready now."""
    needs = PEERS[key]
    for program in needs.programs:
        if not shutil.which(program):
            return f"{program} is missing (Debian: apt-get install -y {needs.packages})"
    return needs.ready()


def version(key):
    return PEERS[key].version()
