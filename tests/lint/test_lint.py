# SPDX-License-Identifier: BSD-2-Clause
"""The law of the house, where a compiler does not hold it: who may include whom, names, sizes, licences.

Works on the files that git knows or would add, so that a half-written file is looked at too.
"""
import collections
import functools
import os
import re
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

COMMON = {"core", "image", "unwind", "plan"}
# libbpf's, in a folder that has the name of a room.
LIBBPF_HEADERS = {"bpf/bpf.h", "bpf/btf.h", "bpf/libbpf.h", "bpf/bpf_helpers.h", "bpf/bpf_core_read.h"}
# The rooms of the host, lowest first, with the rooms of its own tier that each may include besides itself and common.
# This is the order of docs/architecture.md.
HOST = {}
for _room, _below in (
        ("base", ""),
        ("confine", "base"),
        ("process", "base confine"),
        ("profile", "base"),
        ("growth", "base profile"),
        ("names", "base confine"),
        ("source/image", "base confine process profile"),
        ("source/run", "base confine process source/image"),
        ("source/attach", "base confine process profile source/image source/run"),
        ("source/kernel", "base process profile names source/image source/attach"),
        ("file", "base profile growth names source/image"),
        ("view", "base profile growth names"),
        ("analysis", "base process profile names source/image view"),
        ("scan", "base confine process profile names source/image view"),
        ("session", "base confine process profile growth source/image source/run file analysis scan"),
        ("replay", "base process profile source/run file session"),
        ("output", "base profile growth names source/attach source/kernel view analysis replay"),
        ("plot", "base profile growth names view analysis output"),
        ("page", "base profile growth names view analysis output"),
        ("http", "base"),
        ("service", "base process profile source/image source/run file analysis session"),
        ("wire", "base profile source/image"),
        ("live", "base process profile growth names source/image file view scan session wire"),
        ("screen", "base profile growth names view output live"),
        ("console", "base profile growth names file view scan session output live"),
        ("server", "base profile source/image file session wire live")):
    HOST[_room] = set(_below.split())
HOST["command"] = set(HOST)
HOST["agent"] = set(HOST) - {"command", "output", "screen", "console"}
TRACEE = {"preload": set(), "bpf": set(), "replayer": set()}
TIERS = {"common": {room: COMMON for room in COMMON}, "host": HOST, "tracee": TRACEE}


def tree():
    """Every file of the project, by its path from the top."""
    command = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if found.returncode == 0:
        paths = [path for path in found.stdout.decode().split("\0") if path]
    else:  # an unpacked archive
        paths = []
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [f for f in folders if f not in (".git", "__pycache__") and not f.startswith("build")]  # seldom: an archive
            paths += [os.path.relpath(os.path.join(folder, name), ROOT) for name in files]
    paths = sorted(set(path for path in paths if os.path.isfile(os.path.join(ROOT, path))))
    assert len(paths) > 50, "found %d files: this does not look like the tree of seep" % len(paths)
    return paths


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def is_c(path):
    return path.endswith((".c", ".h", ".cpp"))


def is_source(path):
    name = os.path.basename(path)
    return (is_c(path) or path.endswith((".py", ".sh", ".bash", ".fish")) or path == ".ci/run"
            or re.fullmatch(r"seep[a-z-]*\.[1-9]", name) is not None
            or name in ("meson.build", "meson_options.txt", "Makefile", "_seep"))


def room_of(path):
    """(tier, room) of a file under src/, or None. A room is the folder, below its tier: "view", "source/run"."""
    parts = path.split("/")
    return (parts[1], "/".join(parts[2:-1])) if len(parts) >= 4 and parts[0] == "src" else None


def includes_of(path):
    for number, line in enumerate(text_of(path).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match.group(1), match.group(2)


def none(troubles):
    assert not troubles, "\n" + "\n".join(troubles)


# ---- the include law ----


def test_every_folder_of_src_is_a_known_room():
    none(["%s is in no room that this test knows" % path for path in tree()
          if is_c(path) and path.startswith("src/")
          and (room_of(path) is None or room_of(path)[1] not in TIERS.get(room_of(path)[0], {}))])


def exists_or_is_generated(tier, name):
    if os.path.exists(os.path.join(ROOT, "src", tier, name)):
        return True
    meson = os.path.join("src", tier, os.path.dirname(name), "meson.build")
    return os.path.exists(os.path.join(ROOT, meson)) and "'%s'" % os.path.basename(name) in text_of(meson)


def test_includes_follow_the_law():
    troubles = []
    rooms = {room: tier for tier in TIERS for room in TIERS[tier]}
    for path in tree():
        if not is_c(path) or room_of(path) is None:
            continue
        tier, room = room_of(path)
        allowed = COMMON | {room} | TIERS[tier].get(room, set())
        for number, quote, name in includes_of(path):
            where = "%s:%d" % (path, number)
            first = os.path.dirname(name)
            if quote == '"' and "/" not in name:
                troubles.append('%s: "%s" does not name its room' % (where, name))
            elif quote == '"' and first not in rooms:
                troubles.append('%s: "%s" is in no room' % (where, name))
            elif quote == '"' and first not in allowed:
                troubles.append("%s: %s/%s may not include %s" % (where, tier, room, name))
            elif quote == '"' and not exists_or_is_generated(rooms[first], name):
                troubles.append('%s: "%s" does not exist' % (where, name))
            elif quote == "<" and first in rooms and "/" in name and name not in LIBBPF_HEADERS:
                troubles.append("%s: <%s> is ours and wants quotes" % (where, name))
    none(troubles)


@functools.lru_cache(maxsize=None)
def declared_by(text):
    """Names that a header declares: macros, tags, enumerators, functions, types, objects."""
    names = set(re.findall(r"^\s*#\s*define\s+(\w+)", text, re.M))
    names.update(re.findall(r"\b(?:struct|enum|union)\s+(\w+)\s*[{;]", text))
    names.update(re.findall(r"\b(\w+)\s*\(", text))
    names.update(re.findall(r"^(?:extern|static|typedef)[^;({]*?\b(\w+)(?:\[[^;]*)?(?:\s*=[^;]*)?;", text, re.M))
    names.update(re.findall(r"\(\*(\w+)\)\(", text))
    for body in re.findall(r"\benum(?:\s+\w+)?\s*\{(.*?)\}", text, re.S):
        names.update(re.findall(r"\b([A-Z]\w+)\b", body))
    return frozenset(name for name in names if not re.match(r"(if|while|for|switch|sizeof|return|defined|_\w+|SEEP_\w+_H)$", name))


def test_no_file_includes_what_it_does_not_use():
    """The file uses no name of a header of ours, nor of the headers which only that header includes."""
    known, gives = {}, {}

    def found(tier, name):
        return next((path for path in ("src/%s/%s" % (at, name) for at in (tier, "common")) if path in known), None)

    def given(path):
        if path not in gives:
            gives[path] = set(declared_by(known[path][0]))
            for name in known[path][1]:
                below = found(path.split("/")[1], name)
                gives[path] |= given(below) if below else set()
        return gives[path]

    for path in tree():
        if is_c(path) and room_of(path) is not None:
            known[path] = (strip_comments(text_of(path)), [name for _, quote, name in includes_of(path) if quote == '"'])
    troubles = []
    for path, (text, names) in known.items():
        if not path.endswith(".c"):
            continue
        used = set(re.findall(r"\w+", re.sub(r"^\s*#\s*include.*$", "", text, flags=re.M)))
        headers = {name: found(path.split("/")[1], name) for name in names}
        for name, header in headers.items():
            others = set().union(*(declared_by(known[other][0]) for other in headers.values() if other and other != header))
            if header and not (given(header) - others) & used and not declared_by(known[header][0]) & used:
                troubles.append('%s: nothing of "%s" is used' % (path, name))
    none(troubles)


# What common and tracee may use of the system: no stdio, no allocation, no third party.
COMMON_HEADERS = {"stdbool.h", "stddef.h", "stdint.h", "limits.h", "string.h", "elf.h", "endian.h"}
# (dump.c wants <stdio.h> for rename; that nothing of stdio is called is held by test_libseep.py.)
FORBIDDEN_IN_TRACEE = re.compile(r"<(dwarf\.h|elfutils/.*|libelf\.h|zstd\.h|jansson\.h|gelf\.h)>")


def test_common_is_freestanding_and_tracee_needs_libc_only():
    troubles = []
    for path in tree():
        if not is_c(path) or room_of(path) is None:
            continue
        for number, quote, name in includes_of(path):
            if room_of(path)[0] == "common" and quote == "<" and name not in COMMON_HEADERS:
                troubles.append("%s:%d: common may not include <%s>" % (path, number, name))
            if room_of(path)[0] == "tracee" and FORBIDDEN_IN_TRACEE.fullmatch("<%s>" % name):
                troubles.append("%s:%d: tracee may not include <%s>" % (path, number, name))
    none(troubles)


def test_only_command_and_output_print_or_exit():
    troubles = []
    # A child between fork and exec may _exit; that is not leaving the tool.
    pattern = re.compile(r"(?<![\w.>])(printf|puts|putchar|fprintf\s*\(\s*std(?:out|err)\b|perror|exit|abort)\s*\(?")
    for path in tree():
        if not is_c(path) or room_of(path) is None or room_of(path)[0] != "host":
            continue
        if room_of(path)[1] in ("command", "output", "agent"):
            continue
        for number, line in enumerate(strip_comments(text_of(path)).splitlines(), 1):
            match = pattern.search(line)
            if match and "(" in match.group(0):
                troubles.append("%s:%d: %s" % (path, number, line.strip()))
    none(troubles)


def strip_comments(text):
    """C without comments and without the insides of strings; line numbers stay."""
    def blank(match):
        found = match.group(0)
        if found.startswith('"'):
            return '""'
        return re.sub(r"[^\n]", " ", found)
    return re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', blank, text, flags=re.S)


# ---- files ----


NARROW_ATOMIC = re.compile(r"_Atomic (?:bool|u?int(?:8|16)_t) \**(\w+)")
EXCHANGE = re.compile(r"atomic_(?:exchange(?:_[a-z]+)?|fetch_\w+|compare_exchange_\w+)\(&?(?:[\w\[\]]+(?:->|\.))*(\w+)")


def test_the_library_exchanges_no_bytes():
    """On riscv64 an exchange of one byte is a function of libatomic, which the library does not link."""
    troubles = []
    for path in tree():
        if is_c(path) and path.startswith(("src/tracee/preload/", "src/common/")):
            text = strip_comments(text_of(path))
            narrow = set(NARROW_ATOMIC.findall(text))
            for match in EXCHANGE.finditer(text):
                if match.group(1) in narrow:
                    troubles.append("%s:%d: %s" % (path, text.count("\n", 0, match.start()) + 1, match.group(1)))
    none(troubles)


def test_parts_of_texts_are_copied_by_a_function_of_the_project():
    # strndup() of a part that no zero byte follows is an error to AddressSanitizer's strict_string_checks.
    found = [path for path in tree() if is_c(path) and path.startswith("src/")
             and re.search(r"\bstrndup\s*\(", strip_comments(text_of(path)))]
    assert not found, "seep_text_copy() of base/text_copy.h instead of strndup() in " + ", ".join(found)


def test_every_source_names_its_licence():
    troubles = []
    for path in tree():
        if is_source(path):
            head = text_of(path).splitlines()[:2]
            # The kernel lends some of its functions only to programs under the GPL.
            licence = "BSD-2-Clause" + (" OR GPL-2.0-only" if is_c(path) and ("/tracee/bpf/" in path or ".bpf." in path) else "")
            if not any("SPDX-License-Identifier: " + licence in line for line in head):
                troubles.append("%s: no SPDX line" % path)
            elif is_c(path) and head[0] != "// SPDX-License-Identifier: " + licence:
                troubles.append("%s: the SPDX line is not the first" % path)
    none(troubles)


def test_every_c_file_says_what_it_is():
    troubles = []
    for path in tree():
        if is_c(path) and path.startswith("src/"):
            lines = text_of(path).splitlines()
            said = [line for line in lines[1:40] if line.startswith("//") and len(line) > 10]
            # main.c may be small, but not silent.
            if not said or lines.index(said[0]) > 3:
                troubles.append("%s: does not open with a paragraph on what it is" % path)
    none(troubles)


def test_each_file_has_a_job_of_its_own():
    """What a file says of itself in its first sentence, no other one of its kind says."""
    jobs = collections.defaultdict(list)
    for path in tree():
        if not path.startswith("src/") or not is_c(path):
            continue
        said = []
        for line in text_of(path).split("\n")[1:]:
            if not line.startswith("//"):
                break
            said.append(line[2:].strip())
        sentence = re.split(r"[.:;,](?= |$)", " ".join(said).strip())[0]
        jobs[os.path.splitext(path)[1], sentence].append(path)
    none(["one job, several files: " + ", ".join(paths) for paths in jobs.values() if len(paths) > 1])


def test_file_names_are_in_snake_case():
    none(["%s is not snake_case" % path for path in tree()
          if path.startswith(("src/", "tests/", "bench/")) and (is_c(path) or path.endswith(".py"))
          and not re.fullmatch(r"[a-z0-9_]+(\.[a-z0-9]+)+", os.path.basename(path))])


def test_headers_have_the_guard_of_their_place():
    troubles = []
    for path in tree():
        if path.endswith(".h") and path.startswith("src/"):
            guard = "SEEP_" + re.sub(r"\W", "_", "/".join(path.split("/")[2:])).upper()
            if "#ifndef %s\n#define %s\n" % (guard, guard) not in text_of(path):
                troubles.append("%s: include guard is not %s" % (path, guard))
    none(troubles)


def test_no_machine_paths_and_no_registry_hosts():
    # In pieces, so that this file does not find itself.
    hosts = ["pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "deb.debian" + ".org",
             "crates" + ".io", "proxy.golang" + ".org", "archive.ubuntu" + ".com", "artifactory"]
    patterns = [re.escape("/work" + "/main"), re.escape("/work" + "/shared"), re.escape("/roo" + "t/"), r"pyenv/",
                r"/home/(?!user\b|me\b|runner\b|you\b)[a-z]+/"] + [r"(?<![\w])" + re.escape(host) for host in hosts]
    pattern = re.compile("|".join(patterns))
    troubles = []
    for path in tree():
        if path == "tests/lint/test_lint.py":
            continue
        with open(os.path.join(ROOT, path), "rb") as file:
            bytes_of_file = file.read()
        if b"\0" in bytes_of_file:
            # Binary (a trace, a corpus): only the paths of this machine.
            if ("/work" + "/main").encode() in bytes_of_file:
                troubles.append("%s: holds the path of a build machine" % path)
            continue
        for number, line in enumerate(bytes_of_file.decode("utf-8", "replace").splitlines(), 1):
            match = pattern.search(line)
            if match:
                troubles.append("%s:%d: %s" % (path, number, match.group(0)))
    none(troubles)


def test_shell_scripts_parse():
    troubles = []
    for path in tree():
        if path.endswith(".sh") or path == ".ci/run":
            done = subprocess.run(["sh", "-n", os.path.join(ROOT, path)], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            if done.returncode:
                troubles.append("%s: %s" % (path, done.stdout.decode()))
            if not os.access(os.path.join(ROOT, path), os.X_OK):
                troubles.append("%s is not executable" % path)
    none(troubles)


# ---- documents ----


def test_the_architecture_has_the_rooms_in_the_order_of_the_law():
    """docs/architecture.md lists the rooms of the host; HOST above is what the includes are held to."""
    told = re.findall(r"^\| `([\w/]+)` \|", text_of("docs/architecture.md").partition("## Layering")[2], re.M)
    assert told == list(HOST)
    for position, room in enumerate(told):
        assert HOST[room] <= set(told[:position]), "%s may include a room below it in the table" % room
    there = {room_of(path)[1] for path in tree() if path.startswith("src/host/") and is_c(path)}
    assert there == set(told)


def anchors_of(text):
    """The anchors that the headings of a Markdown page give."""
    anchors = set()
    for heading in re.findall(r"^#+ +(.+?) *#*$", text, re.M):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        anchors.add(plain.replace(" ", "-"))
    return anchors


def links_of(text):
    """(line number, target) of each Markdown link outside code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if fenced or line.startswith("    "):
            continue
        for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            yield number, target


def test_links_between_documents_resolve():
    troubles = []
    for path in tree():
        if not path.endswith(".md"):
            continue
        for number, target in links_of(text_of(path)):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            place = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not os.path.exists(os.path.join(ROOT, place)):
                troubles.append("%s:%d: %s does not exist" % (path, number, target))
            elif anchor and place.endswith(".md") and anchor not in anchors_of(text_of(place)):
                troubles.append("%s:%d: %s has no heading %s" % (path, number, place, anchor))
    none(troubles)


def test_files_named_in_documents_exist():
    """`src/...`, `docs/...`, `tests/...` and `tools/...` in backquotes are promises."""
    troubles = []
    for path in tree():
        if path.endswith(".md"):
            for name in re.findall(r"`((?:src|docs|tests|tools|bench)/[\w./-]+)`", text_of(path)):
                if not os.path.exists(os.path.join(ROOT, name)):
                    troubles.append("%s: %s does not exist" % (path, name))
    none(troubles)


def test_the_image_document_has_the_offsets_of_the_header(require, run, tmp_path):
    """docs/image-format.md against layout.h: each row `| offset | type | field |` of its tables."""
    text = text_of("docs/image-format.md")
    header, _, thread = text.partition("### Thread slot")
    checks = []
    header, _, area = header.partition("## Areas")
    for struct, part in (("seep_image_header", header), ("seep_image_area", area), ("seep_image_thread", thread)):
        rows = re.findall(r"^\| (\d+) \| [^|]+ \| (\w+) \|", part, re.M)
        assert len(rows) >= (5 if struct == "seep_image_area" else 15), struct
        checks += ['_Static_assert(offsetof(struct %s, %s) == %s, "%s");' % (struct, field, offset, field)
                   for offset, field in rows]
    size = re.search(r"The next slot follows at (\d+)\.", text).group(1)
    checks.append('_Static_assert(sizeof(struct seep_image_thread) == %s, "slot");' % size)
    source = tmp_path / "offsets.c"
    source.write_text('#include <stddef.h>\n#include "image/layout.h"\n' + "\n".join(checks) + "\n")
    done = run(require("gcc"), "-std=gnu11", "-fsyntax-only", "-I", os.path.join(ROOT, "src", "common"), source)
    assert done.returncode == 0, done.stderr


def groups_of(path):
    """(line, text) of what blank lines divide at the top level of a header."""
    depth, start, lines = 0, 0, []
    for number, line in enumerate([*text_of(path).splitlines(), ""], 1):
        if line.strip() or depth:
            start = start if lines else number
            lines.append(line)
            depth = max(0, depth + line.count("{") - line.count("}"))
        elif lines:
            yield start, "\n".join(lines)
            lines = []


def test_headers_say_what_they_declare():
    """Functions and structs that stand together have a comment. Left out: what each CPU has, which cpu.h and arch.h tell;
    the structs of the kernel and the maps of BPF; what ends by _deinit; tables of names."""
    troubles, nr = [], 0
    for path in tree():
        if not re.match(r"src/.*\.h$", path) or re.search(r"^src/tracee/bpf/|/cpu_\w+\.h$|/arch\w*\.h$", path):
            continue
        for number, group in groups_of(path):
            declares = re.search(r"^(?!#|typedef|struct \w+;|enum \w+;|_Static_assert|extern \"C\"|void \w+_deinit\(|[A-Z_]+\(\w+\)$)\S.*(\w\(|\{)", group, re.M)
            nr += bool(declares)
            if declares and "//" not in group and "/*" not in group:
                troubles.append("%s:%d: %s" % (path, number, group.splitlines()[0]))
    assert nr > 1000
    none(troubles)


def test_images_are_read_through_one_door():
    """Numbers of an image come out of its bytes in image_decode.c, which knows versions and byte orders. Others would take
    the offsets and sizes of structs for granted; what is in the profile has none of these structs."""
    door = {"image_decode.c", "image_decode.h", "header_v1.h"}
    wire = r"struct seep_image_(?:header|area|module|node|site|thread|odd|mapping|map_site|misuse|custom_pool|piece|region|peak)\b"
    troubles = []
    for path in tree():
        if not is_c(path) or not path.startswith("src/host/") or os.path.basename(path) in door:
            continue
        code = re.sub(r"//.*", "", text_of(path))
        for found in re.findall(r"(?:sizeof|offsetof)\(%s" % wire, code):
            troubles.append("%s: %s...: image_decode.h has what is needed" % (path, found))
        if not path.startswith("src/host/source/image/"):
            for found in re.findall(wire, code):
                troubles.append("%s: %s is known in source/image only" % (path, found))
    none(troubles)


@pytest.mark.parametrize("page", sorted(path for path in tree() if re.search(r"docs/man/.*\.[1-9]$", path)))
def test_man_page_is_well_formed(page, require, run):
    done = run(require("man"), "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", os.path.join(ROOT, page),
               env={"MANROFFSEQ": ""})
    assert done.returncode == 0 and not done.stderr, done.stderr
    sections = re.findall(r"^\.S[Hh] \"?([A-Z ]+)", text_of(page), re.M)
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "EXIT STATUS", "SEE ALSO"):
        assert section in sections, "%s has no section %s" % (page, section)


def test_the_first_man_page_names_the_others():
    """Once as a command, once under SEE ALSO."""
    commands, _, see_also = text_of("docs/man/seep.1").partition(".SH SEE ALSO")
    names = sorted(os.path.basename(path)[:-2].replace("-", "\\-") for path in tree() if re.match(r"docs/man/seep-(?!agent)\w+\.1$", path))
    none(["%s is not %s" % (name, where) for name in names for where, text in (("among the commands", commands), ("under SEE ALSO", see_also))
          if ".BR %s (1)" % name not in text])


def test_layout():
    """`make format` would change nothing. Versions of clang-format differ in small things: only that of the house tells."""
    tool = shutil.which("clang-format")
    if not tool:
        pytest.skip("clang-format is not installed")
    version = subprocess.run([tool, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
    if not re.search(r"version 14\.", version):
        pytest.skip("this is not clang-format 14: %s" % version.strip())
    files = [path for path in tree() if re.match(r"(src|tests|bench)/.*\.[ch]$|tests/.*\.cpp$", path)]
    done = subprocess.run([tool, "--dry-run", "-Werror", *files], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, "make format:\n" + done.stdout.decode()[:2000]


def test_codes_of_notes_are_those_of_the_document():
    """The numbers of note.h in its order, their names and flags of note.c, and the table of the format."""
    header = text_of("src/host/base/note.h").split("enum seep_note_code {")[1].split("}")[0]
    order = re.findall(r"^ *SEEP_NOTE_(\w+),", header, flags=re.M)
    named = dict((code, (name, {"0": "", "SEEP_NOTE_UNTRACED": "1", "SEEP_NOTE_MISSING": "2", "SEEP_NOTE_UNSCANNED": "4"}[flags]))
                 for code, name, flags in re.findall(r'\[SEEP_NOTE_(\w+)\] = \{"([a-z_]+)", (\w+)\}', text_of("src/host/base/note.c")))
    assert set(order) - {"NR"} == set(named)
    ours = [(str(number), *named[code]) for number, code in enumerate(order) if code != "NR"]
    table = re.findall(r"^\| (\d+) \| ([a-z_]+) \| ?(\d?) \|", text_of("docs/trace-format.md"), flags=re.M)
    assert [row for row in table if row[1] in {name for _, name, _ in ours}] == ours


def test_sections_are_those_of_the_document():
    """The table of types in the format has the numbers and names of records.h, and of each its words: NAME in bold."""
    document = text_of("docs/trace-format.md")
    types = re.findall(r"^    SEEP_TRACE_(\w+) = (\d+),", text_of("src/host/base/records.h"), flags=re.M)
    table = re.findall(r"^\| (\d+) \| ([A-Z_]+) \|", document.split("### Types")[1], flags=re.M)
    assert len(types) > 30 and sorted((name, number) for number, name in table) == sorted(types)
    none(["%s has no words" % name for name, _ in types if not re.search(r"\*\*%s\*\*" % name, document)])


# Words that were weeded out: what they stand for has a name. "nobody" is also a user.
WEEDED = re.compile(r"\b(whoever|given back|gives? back|gave back|what is so|who holds it back)\b", re.IGNORECASE)
NOBODY = re.compile(r"\bnobody(?! \(where)\b", re.IGNORECASE)
GENERATED = ("docs/coverage.md", "docs/leak-agreement.md", "docs/performance-table.md")


def read_parts(path, line):
    """What a person reads of the line: a document whole, of code its texts and its comments."""
    if path.endswith((".md", ".1", "include/seep.h")):
        return [line]
    if is_c(path):
        return re.findall(r'"(?:\\.|[^"\\])*"', line) + [line.partition("//")[2]]
    return re.findall(r'"""(?:[^"]|"(?!""))*(?:""")?', line) + [line.partition("#")[2]] if path.endswith((".py", ".sh", "meson.build")) else []


def test_words_that_were_weeded_out_stay_out():
    troubles = []
    for path in tree():
        if path == "tests/lint/test_lint.py" or path.startswith(("web/", "tests/golden/")):
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            for part in read_parts(path, line):
                found = WEEDED.findall(part)
                if not path.startswith("tests/"):
                    found += NOBODY.findall(part)
                troubles += ["%s:%d: '%s'" % (path, number, word) for word in found]
    none(troubles)


def test_lines_of_documents_have_at_most_120_columns():
    """Tables have rows of any length, and what is shown of a terminal is as it is."""
    troubles = []
    for path in tree():
        if not path.endswith(".md") or path in GENERATED or path.startswith("tests/golden/"):
            continue
        shown = False
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if line.lstrip().startswith("```"):
                shown = not shown
            elif len(line) > 120 and not shown and not line.startswith(("|", "    ")):
                troubles.append("%s:%d: %d columns" % (path, number, len(line)))
    none(troubles)


def test_every_document_is_reachable_from_the_readme():
    seen, todo = set(), ["README.md"]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for link in re.findall(r"\]\(([^)#\s]+\.md)", text_of(path)):
            target = os.path.normpath(os.path.join(os.path.dirname(path), link))
            if os.path.exists(os.path.join(ROOT, target)):
                todo.append(target)
    none(["no chain of links leads to %s" % path for path in tree()
          if path.endswith(".md") and not path.startswith("tests/golden/") and path not in seen])


def test_the_agreement_with_other_tools_names_lines_of_the_corpus():
    """A row is of a line that says what is expected there, so the page was made after the corpus was changed."""
    rows = re.findall(r"^- `([^:`]+):(\d+)`", text_of("docs/leak-agreement.md"), re.M)
    assert rows
    none(sorted({"%s:%s: nothing is expected there" % (name, line) for name, line in rows
                 if "EXPECT:" not in text_of("tests/corpus/" + name).splitlines()[int(line) - 1]}))


def test_each_soak_of_the_help_can_be_made():
    """Its recipe is one line of conditions within conditions."""
    with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as file:
        kinds = re.findall(r'make soak ONLY=([a-z]+)', file.read())
    assert len(kinds) > 5
    for kind in kinds:
        done = subprocess.run(["make", "-n", "--no-print-directory", "soak", f"ONLY={kind}"], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
