"""The package builds and installs from its directory, with all that it needs and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent


def test_a_wheel_installs_from_the_directory(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(HERE)], check=True)
    (wheel,) = tmp_path.glob("hero_client-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("hero/__init__.py", "hero/py.typed", "hero/sync/methods.py", "hero/worker/actor.py", "hero/testing/plugin.py"):
        assert name in names, names
    assert all(name.startswith(("hero/", "hero_client-")) for name in names)
    subprocess.run([*pip, "install", "--no-deps", "--target", str(tmp_path / "installed"), str(wheel)], check=True)
    program = "import hero, hero.aio, hero.worker, hero.testing; print(hero.__file__)"
    path = {"PYTHONPATH": str(tmp_path / "installed"), "PYTHONDONTWRITEBYTECODE": "1"}
    said = subprocess.run([sys.executable, "-c", program], env=path, check=True, capture_output=True, text=True)
    assert str(tmp_path) in said.stdout
