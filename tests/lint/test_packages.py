# SPDX-License-Identifier: BSD-2-Clause
"""What tools/install-deps.sh installs is enough: the build configures with the packages of `build` and no other."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest


def words(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Packages:
    """What dpkg knows of this system: who needs whom, and whose a file is."""

    def __init__(self):
        self.needs, self.provided, self.always, self.files = {}, {}, set(), {}
        form = "${db:Status-Abbrev}\t${binary:Package}\t${Essential}\t${Provides}\t${Pre-Depends}, ${Depends}\n"
        for line in words("dpkg-query", "-W", "-f=" + form).splitlines():
            status, name, essential, provides, needs = line.split("\t")
            if not status.startswith("ii"):
                continue
            name = name.split(":")[0]
            self.needs[name] = [[re.split(r"[ (:]", one.strip())[0] for one in group.split("|")]
                                for group in needs.split(",") if group.strip()]
            for other in provides.split(","):
                self.provided.setdefault(re.split(r"[ (]", other.strip())[0], []).append(name)
            if essential == "yes":
                self.always.add(name)

    def installed(self, name):
        return [name] if name in self.needs else self.provided.get(name, [])

    def with_all_they_need(self, names):
        todo, done = [*self.always, *names], set()
        while todo:
            name = todo.pop()
            if name in done:
                continue
            done.add(name)
            for group in self.needs.get(name, []):
                # apt takes the first that there is.
                todo += next((self.installed(one) for one in group if self.installed(one)), [])
        return done

    def files_of(self, names):
        return set(words("dpkg-query", "-L", *sorted(name for name in names if name in self.needs)).splitlines())


def farm(folder, found):
    """A folder of links: name -> file."""
    folder.mkdir()
    for name, file in found.items():
        (folder / name).symlink_to(file)
    return str(folder)


def merged(path):
    """/bin/sh is /usr/bin/sh where the two folders are one."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


@pytest.fixture(scope="module")
def only_build(root, tmp_path_factory):
    """An environment with the programs and .pc files of the purpose `build`, what these need, and nothing else."""
    if not shutil.which("dpkg-query"):
        pytest.skip("no dpkg here: whose a file is cannot be told")
    names = words(os.path.join(root, "tools", "install-deps.sh"), "--list", "build").split()
    packages = Packages()
    missing = [name for name in names if not packages.installed(name)]
    if missing:
        pytest.skip("not all of `install-deps.sh build` is installed by dpkg: " + " ".join(missing))
    files = {merged(file) for file in packages.files_of(packages.with_all_they_need(names))}
    programs = {}
    for folder in ("/usr/bin", "/usr/sbin"):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            at = path
            while os.path.islink(at) and at not in files:  # through /etc/alternatives
                at = os.path.join(os.path.dirname(at), os.readlink(at))
            if merged(at) in files and os.access(path, os.X_OK):
                programs[name] = path
    modules = {os.path.basename(file): file for file in files if file.endswith(".pc")}
    assert {"meson", "ninja", "gcc", "g++", "cp"} <= set(programs) and {"libdw.pc", "jansson.pc"} <= set(modules)
    folder = tmp_path_factory.mktemp("only-build")
    return {"PATH": farm(folder / "bin", programs), "PKG_CONFIG_LIBDIR": farm(folder / "pc", modules),
            "HOME": str(folder), "LC_ALL": "C.UTF-8"}


def test_the_build_configures_with_what_build_installs(root, only_build, tmp_path):
    """As on a fresh machine: no cmocka, no git, no python packages beside meson's."""
    assert not os.path.exists(os.path.join(only_build["PKG_CONFIG_LIBDIR"], "cmocka.pc"))
    setup = subprocess.run(["meson", "setup", str(tmp_path / "b"), root], env=only_build, capture_output=True, text=True,
                           check=False, timeout=300)
    assert setup.returncode == 0, setup.stdout[-3000:] + setup.stderr
    rules = subprocess.run(["ninja", "-C", str(tmp_path / "b"), "-n", "seep", "libseep.so"], env=only_build, check=False,
                           capture_output=True, text=True, timeout=60)
    assert rules.returncode == 0 and "libseep.so" in rules.stdout, rules.stdout + rules.stderr
    assert os.path.exists(tmp_path / "b" / "src") and not os.path.exists(tmp_path / "b" / "tests" / "unit")


def test_the_tests_need_what_test_installs(root, only_build, tmp_path):
    """Asked for, they are not left out in silence."""
    setup = subprocess.run(["meson", "setup", str(tmp_path / "b"), root, "-Dtests=enabled"], env=only_build,
                           capture_output=True, text=True, check=False, timeout=300)
    assert setup.returncode != 0 and "cmocka" in setup.stdout


def test_what_is_left_out_is_said_at_the_end(root, tmp_path):
    """Of a build without libbpf and libedit, one line each; of one that has all, nothing."""
    def make_build(*lines):
        seep.write_text("#!/bin/sh\ncat <<'END'\n%s\nEND\n" % "\n".join(lines))
        seep.chmod(0o755)
        done = subprocess.run(["make", "-s", "-f", os.path.join(root, "Makefile"), "build"], cwd=tmp_path, check=False,
                              capture_output=True, text=True, env={"PATH": "%s:/usr/bin:/bin" % (tmp_path / "bin")}, timeout=60)
        assert done.returncode == 0 and not done.stderr, done
        return done.stdout

    seep, ninja = tmp_path / "build" / "seep", tmp_path / "bin" / "ninja"
    seep.parent.mkdir()
    ninja.parent.mkdir()
    (tmp_path / "build" / "build.ninja").touch()
    ninja.write_text("#!/bin/sh\n")
    ninja.chmod(0o755)
    assert make_build("build", "  version              0.1.0", "", "bpf", "  BPF programs         yes") == ""
    source = Path(root, "src/host/command/cmd_info.c").read_text(encoding="utf-8")
    assert '#define LEFT_OUT "left out of this build"' in source
    assert make_build("build", "  libedit              NO: left out of this build", "                       history needs it", "", "bpf",
                      "  BPF programs         NO: left out of this build", "                       build with libbpf") == (
        "libedit: left out of this build: history needs it\nBPF programs: left out of this build: build with libbpf\n")


def test_a_folder_that_cannot_be_written_is_told(root, tmp_path):
    shutil.copy(os.path.join(root, "Makefile"), tmp_path)
    (tmp_path / "build").symlink_to("/proc/self")  # where root cannot write either
    done = subprocess.run(["make", "-s", "build"], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "build cannot be written by this user" in done.stderr and "Traceback" not in done.stderr, done


def test_debian_packages_are_built_with_all_libraries(root):
    """A library that is not among the Build-Depends is left out of the package without a word."""
    build = words(os.path.join(root, "tools", "install-deps.sh"), "--list", "build").split()
    control = Path(root, "packaging/debian/control").read_text(encoding="utf-8")
    depends = re.search(r"^Build-Depends:((?:.|\n )*)", control, re.M).group(1)
    named = set(re.findall(r"[a-z][a-z0-9.+-]+", depends))
    missing = [name for name in build if name.startswith("lib") and name not in named | {"libc6-dev"}]
    assert len(build) > 15 and not missing, missing


def fakes(folder, **programs):
    folder.mkdir()
    for name, body in programs.items():
        (folder / name.replace("_", "-")).write_text("#!/bin/sh\n%s\n" % body)
        (folder / name.replace("_", "-")).chmod(0o755)
    return {"PATH": "%s:/usr/bin:/bin" % folder, "LC_ALL": "C.UTF-8"}


def test_a_release_that_is_too_old_is_told_before_anything_is_installed(root, tmp_path):
    if not shutil.which("dpkg"):
        pytest.skip("no dpkg here: versions cannot be compared")
    nothing = {name: "exit 0" for name in ("tee", "chmod", "rm")}  # the policy for services stays as it is
    environment = fakes(tmp_path / "bin", dpkg_query="exit 1", id="echo 0", apt_get='echo "apt-get $*"', meson="exit 1", **nothing,
                        apt_cache='echo "  Candidate: 0.56.2-1"')
    done = subprocess.run([os.path.join(root, "tools", "install-deps.sh"), "build"], env=environment, capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == 1 and "this system has meson 0.56.2-1" in done.stderr and done.stderr.count("\n") == 1, done
    assert "update" in done.stdout and not re.search("apt-get .*install gcc", done.stdout), done
    # Another user is not told to install it.
    environment = fakes(tmp_path / "user", dpkg_query="exit 1", id="echo 1000", sudo="exit 1", meson="exit 1",
                        apt_cache='echo "  Candidate: 0.56.2-1"')
    done = subprocess.run([os.path.join(root, "tools", "install-deps.sh"), "build"], env=environment, capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == 1 and "this system has meson 0.56.2-1" in done.stderr and done.stderr.count("\n") == 1, done
    # One that is installed is told before the lists are fetched.
    environment = fakes(tmp_path / "there", **nothing, dpkg_query="echo 'ii  meson'", id="echo 0", apt_get='echo "apt-get $*"', meson="echo 0.56.2")
    done = subprocess.run([os.path.join(root, "tools", "install-deps.sh"), "build"], env=environment, capture_output=True,
                          text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, "") and "this system has meson 0.56.2" in done.stderr and done.stderr.count("\n") == 1, done


def test_what_is_missing_is_one_command_for_root(root, tmp_path):
    """Without root and without lists of packages: every name is one that there is, or may be."""
    environment = fakes(tmp_path / "bin", dpkg_query="exit 1", id="echo 1000", sudo="exit 1", apt_cache="exit 0", meson="exit 1")
    done = subprocess.run([os.path.join(root, "tools", "install-deps.sh"), "build", "test", "traced"], env=environment,
                          capture_output=True, text=True, check=False, timeout=60)
    (command,) = [line for line in done.stderr.splitlines() if "apt-get install" in line]
    assert done.returncode == 1 and command.startswith("    apt-get update && apt-get install "), done
    named = command.split("--no-install-recommends ")[1].split()
    # With lists at hand, those that this release does not have are left out.
    assert {"meson", "libcmocka-dev"} <= set(named) and all(re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", name) for name in named), named
    # A meson from outside the packages is accepted.
    environment = fakes(tmp_path / "pip", dpkg_query="exit 1", id="echo 1000", sudo="exit 1", apt_cache="exit 0", meson="echo 1.2")
    done = subprocess.run([os.path.join(root, "tools", "install-deps.sh"), "build"], env=environment, capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == 1 and " ninja-build" in done.stderr and " meson " not in done.stderr, done
