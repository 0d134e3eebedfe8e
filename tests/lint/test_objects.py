# SPDX-License-Identifier: BSD-2-Clause
"""Facts about the sources from the objects of a build: functions that no other file uses, and whether the list of
files of seep-agent is complete. Neither needs another build."""
import collections
import glob
import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
AGENT = os.path.join(ROOT, "src", "host", "agent")


def words_of(*patterns):
    """The names of the project that files have, by file."""
    words = {}
    for pattern in patterns:
        for path in glob.glob(os.path.join(ROOT, pattern), recursive=True):
            with open(path, encoding="utf-8", errors="replace") as file:
                words[os.path.relpath(path, ROOT)] = set(re.findall(r"\bseep_\w+", file.read()))
    return words


@pytest.fixture(scope="module")
def objects(build):
    """{source file: (names it defines, names it needs)} of the host, common and libseep.so."""
    folders = ["src/host/libseephost.a.p", "src/host/seep.p"] + [
        os.path.relpath(path, build) for path in glob.glob(os.path.join(build, "src/tracee/preload/*.p"))]
    # The paths of common begin with a dot.
    files = [os.path.join(build, folder, name) for folder in folders for name in os.listdir(os.path.join(build, folder))
             if name.endswith(".c.o")]
    assert len(files) > 100
    listed = subprocess.run(["nm", "-A", "-g", "-P", *files], stdout=subprocess.PIPE, check=True).stdout.decode()
    found = collections.defaultdict(lambda: (set(), set()))
    for line in listed.splitlines():
        path, name, kind = line.split()[:3]
        if kind not in "WV":
            found[path.rstrip(":")][kind in "Uw"].add(name)
    return found


def test_a_function_that_no_other_file_uses_is_static(objects):
    """Exceptions: a function for tests, one of include/seep.h for programs, one that a file outside this build needs. A
    table names the rows of SEEP_SECTIONS."""
    built = {os.path.basename(path).replace(".._", "").removesuffix(".c.o") for path in objects}
    used = set().union(*words_of("tests/**/*.[ch]", "bench/**/*.c", "include/*.h").values())
    for path, words in words_of("src/**/*.c").items():
        parts = path.removesuffix(".c").split("/")[1:]
        if not {"_".join(parts), "_".join(parts[1:]), parts[-1]} & built:
            used |= words
    needed_by = collections.defaultdict(set)
    for path, (_, needed) in objects.items():
        for name in needed:
            needed_by[name].add(path)
    alone = {"%s of %s" % (name, os.path.basename(path).removesuffix(".c.o")) for path, (defined, _) in objects.items()
             for name in defined if name.startswith("seep_") and name not in needed_by and name not in used
             and not name.startswith("seep_section_")}
    assert not alone, "make static, or remove: " + ", ".join(sorted(alone))


def agent_files():
    """The files of other rooms in the build file of seep-agent: room/name."""
    with open(os.path.join(AGENT, "meson.build"), encoding="utf-8") as file:
        text = file.read()
    rooms = re.findall(r"^  '([\w/]+)': \[(.*?)\]", text, re.S | re.M)
    by_a_library = re.findall(r"files\('\.\./([\w/]+)\.c'", text)  # where it is there
    return {room + "/" + name for room, names in rooms for name in re.findall(r"'(\w+)'", names)} | set(by_a_library)


def agent_trouble(listed, defined, needed, own_defined, own_needed):
    """The files that the list lacks, and the listed files that nothing needs. The agent's own files replace each file
    of which they define a name, with as much of it as the agent calls."""
    file_of = {name: path for path, names in defined.items() for name in names}
    replaced = {file_of[name] for name in own_defined if name in file_of}
    missing, idle = set(), set(listed)
    for path, names in [(path, needed[path]) for path in listed] + [("", own_needed)]:
        for name in names:
            of = file_of.get(name)
            if of and of != path:
                idle.discard(of)
                if of not in listed and of not in replaced:
                    missing.add("%s for %s" % (of, name))
    return missing, idle


def test_seep_agent_is_built_of_all_the_files_that_it_needs(objects):
    """A file that is missing from src/host/agent/meson.build breaks `make agent` alone, which no other test builds."""
    sources = {path[len("src/host/"):-2].replace("/", "_"): path[len("src/host/"):-2]
               for path in words_of("src/host/**/*.c")}
    by_source = {sources[os.path.basename(path).removesuffix(".c.o")]: names for path, names in objects.items()
                 if "/libseephost.a.p/" in path and os.path.basename(path).removesuffix(".c.o") in sources}
    # Files in place of a library that this build lacks: the agent's build chooses by itself.
    defined = {path: names[0] for path, names in by_source.items() if not path.endswith("_none")}
    needed = {path: names[1] for path, names in by_source.items()}
    own_needed = set().union(*words_of("src/host/agent/*.c").values())
    own_defined = set()
    for path in glob.glob(os.path.join(AGENT, "*.c")):
        with open(path, encoding="utf-8") as file:
            own_defined |= set(re.findall(r"^\w[^;{}()]*?\b(seep_\w+)\([^;{}]*\) \{", file.read(), re.M))
    listed = agent_files()
    assert len(listed) > 80 and listed <= set(sources.values())
    listed &= set(defined)
    missing, idle = agent_trouble(listed, defined, needed, own_defined, own_needed)
    assert not missing, "src/host/agent/meson.build lacks: " + ", ".join(sorted(missing))
    assert not idle, "src/host/agent/meson.build lists files that nothing there needs: " + ", ".join(sorted(idle))


def test_a_file_that_the_list_lacks_is_found():
    """The check itself."""
    defined = {"base/a": {"seep_a"}, "base/b": {"seep_b"}, "base/c": {"seep_c"}, "base/large": {"seep_large", "seep_larger"}}
    needed = {"base/a": {"seep_b", "seep_large", "seep_larger"}, "base/b": set(), "base/c": {"seep_a"}}
    own = {"seep_large"}, {"seep_a", "seep_large"}
    assert agent_trouble({"base/a", "base/b"}, defined, needed, *own) == (set(), set())
    assert agent_trouble({"base/a"}, defined, needed, *own) == ({"base/b for seep_b"}, set())
    assert agent_trouble({"base/b"}, defined, needed, *own) == ({"base/a for seep_a"}, {"base/b"})
    assert agent_trouble({"base/a", "base/b", "base/c"}, defined, needed, *own) == (set(), {"base/c"})
