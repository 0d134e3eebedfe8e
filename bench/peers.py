# SPDX-License-Identifier: BSD-2-Clause
"""The tools that are measured side by side: how each is started, and which of them this machine has."""
import glob
import os

import common


class Tool:
    """How to run a program under a tool.

    `most_runs` bounds the repetitions of slow tools; `variant` names the build of the workloads it needs.
    """
    name = "untraced"
    text = "untraced"
    variant = "plain"
    most_runs = None

    def runs(self, asked):
        return asked if self.most_runs is None else min(asked, self.most_runs)

    def version(self):
        return None

    def wrap(self, context, command, environment):
        """(command, environment, preload)"""
        return command, environment, None


class Seep(Tool):
    name = "seep"
    text = "seep, the library alone: LD_PRELOAD=libseep.so, writes its dump at exit"

    def wrap(self, context, command, environment):
        environment["SEEP_OUT"] = os.path.join(context.scratch, "bench.%p.seep")
        return command, environment, context.library


class SeepSample(Seep):
    name = "seep sampled"
    text = "seep, the library alone, SEEP_SAMPLE=524288: a sample each 512 KiB allocated on average"

    def wrap(self, context, command, environment):
        command, environment, preload = super().wrap(context, command, environment)
        environment["SEEP_SAMPLE"] = "524288"
        return command, environment, preload


class SeepRun(Tool):
    name = "seep run"
    text = "the whole tool: seep run -q, with reading the image and writing the trace"

    def wrap(self, context, command, environment):
        out = os.path.join(context.scratch, "bench.%p.seep")
        return [context.seep, "run", "-q", "-o", out, "--"] + command, environment, None


class Heaptrack(Tool):
    name = "heaptrack"
    text = "heaptrack as it is used: its interpreter runs beside the program"
    most_runs = 2
    options = []

    def version(self):
        return common.first_line(["heaptrack", "--version"])

    def wrap(self, context, command, environment):
        out = os.path.join(context.scratch, "heaptrack")
        return ["heaptrack"] + self.options + ["-o", out] + command, environment, None


class HeaptrackRaw(Heaptrack):
    name = "heaptrack raw"
    text = "heaptrack --raw: records only, the interpreter is for later"
    most_runs = 3
    options = ["--raw"]


class Memcheck(Tool):
    name = "memcheck"
    text = "valgrind --tool=memcheck with its defaults"
    most_runs = 1

    def version(self):
        return common.first_line(["valgrind", "--version"])

    def wrap(self, context, command, environment):
        log = "--log-file=" + os.path.join(context.scratch, "memcheck.log")
        return ["valgrind", "--tool=memcheck", log] + command, environment, None


class LeakSanitizer(Tool):
    """A build with -fsanitize=leak and frame pointers; its stacks are asked to be complete."""
    most_runs = 3

    def __init__(self, compiler):
        self.compiler = compiler
        self.name = self.variant = "lsan-" + compiler
        self.text = "%s -fsanitize=leak -fno-omit-frame-pointer, malloc_context_size=255" % compiler

    def version(self):
        return common.first_line([self.compiler, "--version"])

    def wrap(self, context, command, environment):
        environment["LSAN_OPTIONS"] = "malloc_context_size=255:exitcode=0:log_path=" + \
            os.path.join(context.scratch, "lsan")
        return command, environment, None


class LeakSanitizerPreload(Tool):
    """For programs that were not built with it: what it sees of a stack without frame pointers is short."""
    name = "lsan"
    text = "gcc's liblsan preloaded into the unchanged program (its stacks are cut short without frame pointers)"
    most_runs = 3

    def __init__(self, library):
        self.library = library

    def wrap(self, context, command, environment):
        environment["LSAN_OPTIONS"] = "exitcode=0:log_path=" + os.path.join(context.scratch, "lsan")
        return command, environment, self.library


class UnwStep(Tool):
    name = "unw_step"
    text = "a preload of ours that unwinds each allocation with libunwind's unw_step and keeps nothing"
    most_runs = 3

    def __init__(self, library):
        self.library = library

    def version(self):
        return "libunwind " + (common.first_line(["pkg-config", "--modversion", "libunwind"]))

    def wrap(self, context, command, environment):
        return command, environment, self.library


class Through(Tool):
    name = "hooks that do nothing"
    text = "a preload of ours whose malloc and free call the real ones and nothing else: what it costs to be in between at all"

    def __init__(self, library):
        self.library = library

    def wrap(self, context, command, environment):
        return command, environment, self.library


def compiled(folder, name):
    """The path of the preload library of peers/NAME.c."""
    library = os.path.join(folder, name + ".so")
    if not common.compile_one(["gcc", "-O2", "-fno-builtin", "-fno-omit-frame-pointer", "-shared", "-fPIC"],
                              os.path.join(common.BENCH, "peers", name + ".c"), library):
        raise SystemExit("bench: peers/%s.c does not compile" % name)
    return library


def find_all(context, folder):
    """{name: tool} of what this machine has; says what it lacks."""
    tools = [Tool(), Through(compiled(folder, "through")), Seep(), SeepSample()]
    if context.seep and "run" in common.output_of([context.seep, "help"]).split():
        tools.append(SeepRun())
    else:
        common.say("skipped: seep run, this build has no such command")
    for tool, needs in ((Heaptrack(), "heaptrack"), (HeaptrackRaw(), "heaptrack"), (Memcheck(), "valgrind")):
        if common.program(needs):
            tools.append(tool)
        else:
            common.say("skipped: %s is not installed" % needs)
    for compiler in ("gcc", "clang"):
        if "lsan-" + compiler in context.built:
            tools.append(LeakSanitizer(compiler))
    found = sorted(glob.glob("/usr/lib/*/liblsan.so.0") + glob.glob("/usr/lib64/liblsan.so.0"))
    if found:
        tools.append(LeakSanitizerPreload(found[0]))
    else:
        common.say("skipped: liblsan.so.0 is not installed")
    library = os.path.join(folder, "unw_step.so")
    source = os.path.join(common.BENCH, "peers", "unw_step.c")
    if common.compile_one(["gcc", "-O2", "-g", "-shared", "-fPIC", "-D_GNU_SOURCE"], source, library, ["-lunwind", "-ldl"]):
        tools.append(UnwStep(library))
    else:
        common.say("skipped: unw_step, libunwind is not installed")
    return {tool.name: tool for tool in tools}
