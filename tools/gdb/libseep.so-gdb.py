# SPDX-License-Identifier: BSD-2-Clause
"""seep within gdb: gdb loads this by itself with libseep.so, of a live process and of a core file.

    seep whois ADDRESS     which block is there, who allocated it, is it lost
    seep holders ADDRESS   the way of pointers to it: variable or thread, block, block
    seep leaks [N]         what is lost, the N biggest sites (default 10; 0: all)

ADDRESS is an expression of the program: `seep whois head->next`. A process that gdb holds is not touched: gdb writes a
core of it, `seep snap` takes what was traced, and `seep scan` reads both, once for each time that it stopped.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile

import gdb


class Failure(gdb.GdbError):
    pass


def tool():
    """$SEEP, the seep beside libseep.so (a build directory), or the one on PATH."""
    beside = [os.path.join(os.path.dirname(objfile.filename), "seep") for objfile in gdb.objfiles()
              if objfile.filename and os.path.basename(objfile.filename).startswith("libseep")]
    for path in [os.environ.get("SEEP")] + beside + [shutil.which("seep")]:
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise Failure("seep: there is no seep here: put it on PATH, or its path into SEEP")


def call(*arguments):
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([tool(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    if done.returncode != 0:
        raise Failure(done.stderr.decode("utf-8", "replace").strip() or "seep %s failed" % arguments[0])
    return done.stdout.decode("utf-8", "replace")


def core_file():
    """The core file that gdb looks at, or None."""
    match = re.search(r"^Local core dump file:\s*\n\s*`(.*)', file type", gdb.execute("info files", to_string=True), re.M)
    return match.group(1) if match else None


class Looked:
    """What was found at this stop; made when it is first asked for."""
    folder = None

    @classmethod
    def forget(cls, *_):
        if cls.folder:
            shutil.rmtree(cls.folder, ignore_errors=True)
        cls.folder = None

    @classmethod
    def path(cls):
        if cls.folder:
            return os.path.join(cls.folder, "scanned.seep")
        folder = tempfile.mkdtemp(prefix="seep-gdb-")
        try:
            cls.scan(folder)
        except Exception:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        cls.folder = folder
        return os.path.join(folder, "scanned.seep")

    @staticmethod
    def scan(folder):
        core, trace = core_file(), []
        if not core:
            inferior = gdb.selected_inferior()
            if not inferior.pid:
                raise Failure("seep: there is no process and no core file")
            if not os.path.exists("/proc/%d/maps" % inferior.pid):
                raise Failure("seep: process %d is not on this machine" % inferior.pid)
            core, snapshot = os.path.join(folder, "core"), os.path.join(folder, "traced.seep")
            call("snap", str(inferior.pid), "-o", snapshot)
            gdb.execute("generate-core-file " + core, to_string=True)
            trace = ["--trace", snapshot]
        call("scan", core, *trace, "-o", os.path.join(folder, "scanned.seep"))
        if trace:
            os.unlink(core)  # it is as large as the program


def address_of(text):
    if not text:
        raise Failure("seep: no ADDRESS")
    return int(gdb.parse_and_eval(text).cast(gdb.lookup_type("unsigned long"))) & 0xffffffffffffffff


class Seep(gdb.Command):
    """Who holds which memory of a program that seep traces: seep whois ADDRESS, seep holders ADDRESS, seep leaks [N]."""

    def __init__(self):
        super().__init__("seep", gdb.COMMAND_DATA, prefix=True)


class Whois(gdb.Command):
    """Which block an address is in, who allocated it, and whether it can still be reached: seep whois ADDRESS."""

    def __init__(self):
        super().__init__("seep whois", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, text, from_tty):
        address = address_of(text)
        gdb.write(call("whois", Looked.path(), hex(address)))


class Holders(gdb.Command):
    """Who holds the block at an address, pointer by pointer: seep holders ADDRESS."""

    def __init__(self):
        super().__init__("seep holders", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, text, from_tty):
        address = address_of(text)
        report = json.loads(call("report", Looked.path(), "--json", "--blocks", "--top", "0"))
        for process in report.get("processes", [report]):
            for site in process["sites"]:
                for block in site.get("blocks") or []:
                    begin = int(block["address"], 16)
                    if begin <= address < begin + max(block["size"], 1):
                        return self.tell(report, site, block)
        raise Failure("seep: there is no live block at 0x%x ('seep whois' says what is)" % address)

    @staticmethod
    def tell(report, site, block):
        frame = report["frames"][report["stacks"][site["stack"]][0]] if site["stack"] >= 0 else {}
        place = frame.get("function") or "an unknown place"
        gdb.write("%s: block of %d bytes from %s, %s\n" % (block["address"], block["size"], place, block.get("kind") or "not classed"))
        held = [way for way in site["held_by"] or [] if way["kind"] == block.get("kind")] or site["held_by"] or []
        if not held:
            gdb.write("no pointer to it anywhere\n" if block.get("kind") == "lost" else "who holds it is not known\n")
        if len(held) > 1 or any(way["blocks"] > 1 for way in held):
            gdb.write("blocks from there are held in these ways:\n")
        for way in held:
            if way["blocks"] > 1:
                gdb.write("%d blocks\n" % way["blocks"])
            for depth, link in enumerate(way["text"].split(" -> ")):
                gdb.write("  %s%s%s\n" % ("  " * depth, "-> " if depth else "", link))


class Leaks(gdb.Command):
    """What is lost, by site, the biggest first: seep leaks [N]."""

    def __init__(self):
        super().__init__("seep leaks", gdb.COMMAND_DATA, gdb.COMPLETE_NONE)

    def invoke(self, text, from_tty):
        top = text.strip() or "10"
        if not top.isdigit():
            raise Failure("seep: leaks takes a number")
        report = call("report", Looked.path(), "--kind", "lost,indirect", "--sort", "leaked", "--top", top)
        gdb.write(re.sub(r"\nnext: .*\n(      .*\n)*\Z", "", report))  # of a file that is no longer there then


# A process that goes on is another one.
for _event in (gdb.events.cont, gdb.events.exited, gdb.events.memory_changed, gdb.events.inferior_call, gdb.events.new_objfile):
    _event.connect(Looked.forget)
if hasattr(gdb.events, "gdb_exiting"):
    gdb.events.gdb_exiting.connect(Looked.forget)
else:
    import atexit
    atexit.register(Looked.forget)
Seep()
Whois()
Holders()
Leaks()
