# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of pages and of files for other programs share: a browser, and npm's packages."""
import fcntl
import os
import shutil
import subprocess

import pytest

WEB = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "web")


@pytest.fixture(scope="session")
def chromium():
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not path:
        pytest.skip("chromium is not installed (tools/install-deps.sh web)")
    return path


@pytest.fixture(scope="session")
def modules(build):
    """Folder with npm's packages: that of web/ where somebody works on the page, else one of the build."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed (tools/install-deps.sh web)")
    folder = os.path.join(build, "web")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:  # others of the suite come at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        return install(folder)


def install(folder):
    stamp = os.path.join(folder, "package-lock.json")
    with open(os.path.join(WEB, "package-lock.json"), "rb") as file:
        lock = file.read()
    if os.path.exists(stamp) and open(stamp, "rb").read() == lock:
        return folder
    made = os.path.join(folder, "made")
    shutil.rmtree(made, ignore_errors=True)
    os.makedirs(made)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(os.path.join(WEB, name), made)
    done = subprocess.run(["npm", "ci", "--loglevel=error", "--no-audit", "--no-fund"], cwd=made, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300)
    if done.returncode != 0:
        pytest.skip("npm ci failed: %s" % done.stdout.decode("utf-8", "replace").strip()[-300:])
    shutil.rmtree(os.path.join(folder, "node_modules"), ignore_errors=True)
    os.rename(os.path.join(made, "node_modules"), os.path.join(folder, "node_modules"))
    os.replace(os.path.join(made, "package-lock.json"), stamp)
    return folder
