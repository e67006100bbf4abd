"""Gets each peer ready beside this file, and says why one cannot be."""
import dataclasses
import re
import shutil
import subprocess
import sys
import typing
from pathlib import Path

HERE = Path(__file__).resolve().parent
INSTALL = 1800  # seconds


def run(*command):
    subprocess.run(command, cwd=HERE, check=True, timeout=INSTALL, stdout=sys.stderr)


def bullmq():
    # `npm ci` needs the optional native parts of every platform in the lock file; `npm install` takes the locked
    # versions without them.
    if not (HERE / "node_modules" / "bullmq").is_dir():
        run("npm", "install", "--no-audit", "--no-fund", "--no-save", "--omit=optional", "--silent")


def dramatiq():
    if not (HERE / "venv" / "bin" / "dramatiq").exists():
        run(sys.executable, "-m", "venv", "venv")
        run("venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", "requirements.lock")


def said(*command):
    return subprocess.run(command, cwd=HERE, check=True, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()


def locked(file, before):
    """The version that follows this in a file that pins it."""
    return re.search(re.escape(before) + r"[^0-9]*([0-9.]+)", (HERE / file).read_text()).group(1)


@dataclasses.dataclass
class Needs:
    """What a peer needs: programs, the packages of Debian that have them, and a step that gets the rest."""
    programs: list
    packages: str
    ready: typing.Callable
    version: typing.Callable


PEERS = {
    "bullmq": Needs(["node", "npm"], "nodejs npm", bullmq, lambda: locked("package-lock.json", '"node_modules/bullmq"')),
    "dramatiq": Needs(["python3"], "python3-venv", dramatiq, lambda: locked("requirements.lock", "dramatiq==")),
    "sidekiq": Needs(["ruby", "sidekiq"], "ruby-sidekiq", lambda: None, lambda: said("sidekiq", "--version").split()[-1]),
}


def reason_against(key):
    """Why a peer cannot be measured; nothing if it is ready now."""
    needs = PEERS[key]
    for program in needs.programs:
        if not shutil.which(program):
            return f"{program} is missing (Debian: apt-get install -y {needs.packages})"
    needs.ready()
    return None


def version(key):
    return PEERS[key].version()
