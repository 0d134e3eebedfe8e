# SPDX-License-Identifier: BSD-2-Clause
"""What libseep.so may be, as it goes into other people's processes: libc only, small, and with
nothing visible but its hooks. The two .allow files next to this one are the lists; a line more there
is a decision, not a formality."""
import json
import os
import re
import shlex

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_STRIPPED_BYTES = {"libseep.so": 169 * 1024, "libseep-record.so": 193 * 1024}


@pytest.fixture(params=["libseep.so", "libseep-record.so"])
def libseep(request, build):
    """The one of live mode, and the one of the other modes."""
    return os.path.join(build, request.param)


def allowed(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        lines = [line.split("#")[0].strip() for line in file]
    names = [line for line in lines if line]
    assert names == sorted(names), name + " is not sorted"
    return set(names)


def symbols(run, require, libseep, *options):
    done = run(require("nm"), "-D", *options, libseep)
    assert done.returncode == 0, done.stderr
    names = {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}
    assert names
    return names


def test_it_calls_only_what_is_allowed(run, require, libseep):
    extra = symbols(run, require, libseep, "--undefined-only") - allowed("libseep-undefined.allow")
    assert not extra, "new symbols from outside: %s" % ", ".join(sorted(extra))


def test_it_never_calls_what_locks_or_allocates(run, require, libseep):
    """But dl_iterate_phdr, after a dlopen that took the same lock: deep_bind.c."""
    calls = symbols(run, require, libseep, "--undefined-only")
    never = {"__tls_get_addr", "printf", "fprintf", "fopen", "pthread_mutex_lock",
             "pthread_create", "_Unwind_Backtrace", "backtrace", "malloc", "calloc", "realloc", "free"}
    assert not calls & never


def test_exactly_the_hooks_are_visible(run, require, libseep):
    visible = symbols(run, require, libseep, "--defined-only")
    expected = allowed("libseep-exports.allow")
    assert visible - expected == set(), "visible without need: %s" % ", ".join(sorted(visible - expected))
    assert expected - visible == set(), "hooks that are gone: %s" % ", ".join(sorted(expected - visible))


def test_the_loader_sees_the_programs_call(run, require, libseep):
    """dlopen searches from where its caller lies: ours must end in a jump, and call the real one only for a path, which is
    found from anywhere, with RTLD_DEEPBIND (open_deep)."""
    done = run(require("objdump"), "-d", "--no-show-raw-insn", libseep)
    assert done.returncode == 0, done.stderr
    if "x86-64" not in done.stdout:
        pytest.skip("its instructions are known for x86-64 only")
    for name in ("dlopen", "dlmopen"):
        body = done.stdout.split("<%s>:\n" % name)[1].split("\n\n")[0]
        assert re.search(r"\bjmp\s+\*", body), body
        assert not re.search(r"\bcall\s+\*", body), body


def test_it_needs_libc_and_nothing_else(run, require, libseep):
    done = run(require("readelf"), "-dW", libseep)
    assert done.returncode == 0, done.stderr
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout))
    assert needed and all(re.match(r"libc\.so|libc\.musl|ld-linux|ld-musl", name) for name in needed), needed
    assert "TEXTREL" not in done.stdout
    # Its TLS is reached without a call: the loader must refuse it late rather than allocate for it.
    assert "STATIC_TLS" in done.stdout


def test_its_thread_local_storage_is_one_pointer(run, require, libseep):
    done = run(require("readelf"), "-lW", libseep)
    assert done.returncode == 0, done.stderr
    sizes = [int(line.split()[5], 16) for line in done.stdout.splitlines() if line.split()[:1] == ["TLS"]]
    assert sizes and sizes[0] <= 8, sizes


def test_its_stack_is_not_executable(run, require, libseep):
    done = run(require("readelf"), "-lW", libseep)
    flags = [line for line in done.stdout.splitlines() if "GNU_STACK" in line]
    assert flags and "E" not in flags[0].split()[6], flags


def test_it_is_small(run, require, libseep, tmp_path):
    stripped = tmp_path / "libseep.so"
    done = run(require("strip"), "-o", stripped, libseep)
    assert done.returncode == 0, done.stderr
    size = stripped.stat().st_size
    budget = MAX_STRIPPED_BYTES[os.path.basename(libseep)]
    if b"clang version" in open(libseep, "rb").read():
        budget += budget // 32  # the budgets are gcc's
    assert size <= budget, "%d bytes stripped, the budget is %d" % (size, budget)


def test_it_loads_with_an_old_glibc(run, require, libseep):
    """Versions of symbols that it needs: one that the program's C library does not have, and the program does not start.
    Also a weak symbol's version is a need: what is newer is looked up by name."""
    done = run(require("readelf"), "-VW", libseep)
    assert done.returncode == 0, done.stderr
    needs = done.stdout.split("Version needs section")[1]
    versions = {tuple(map(int, version.split("."))) for version in re.findall(r"Name: GLIBC_([\d.]+)", needs)}
    others = re.findall(r"Name: (?!GLIBC_[\d.]+\b)\S+", needs)  # GLIBC_PRIVATE, another library's
    assert not others, others
    assert versions and max(versions) <= (2, 17), sorted(versions)


def test_flags_for_the_whole_distribution_leave_it_as_it_is(run, require, build, tmp_path):
    """Ubuntu and Fedora compile everything with -flto=auto, which would lose the versions that .symver gives."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        (command,) = [entry["command"] for entry in json.load(file)
                      if entry["file"].endswith("preload/loader_lists.c") and "/libseepcold.a.p/" in entry["output"]]
    compiler, *words = shlex.split(command)
    while compiler.endswith("ccache"):
        compiler, *words = words
    words[words.index("-o") + 1] = str(tmp_path / "one.o")
    done = run(compiler, "-flto=auto", *words, cwd=build)
    assert done.returncode == 0, done.stderr
    done = run(require("readelf"), "-SsW", tmp_path / "one.o")
    assert done.returncode == 0 and " dlsym@" in done.stdout and "lto_" not in done.stdout, done.stdout + done.stderr
