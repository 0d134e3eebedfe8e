# SPDX-License-Identifier: BSD-2-Clause
"""What a child costs: programs that start many others, in CPU time of all processes and the tool together."""
import os

import common
from common import figure, interleave, say, take
from peers import Tool

CHECKS = 60
FILES = 7

TRUE = "i=0; while [ $i -lt %d ]; do /bin/true; i=$((i + 1)); done"
CAT = "i=0; while [ $i -lt %d ]; do /bin/cat /dev/null; i=$((i + 1)); done"
SUBSHELL = "for ((i = 0; i < %d; i++)); do (:); done"

# What configure does most: it writes a file, has it compiled, looks at what came of it, and cleans up.
CONFIGURE = """#!/bin/sh
i=0
while [ $i -lt %d ]; do
    cat > conftest.c <<END
#include <stdio.h>
int main(void) { return sizeof(long) == 8 ? %%d : 1; }
END
    sed -e "s/%%d/$((i %% 2))/" conftest.c > conftest2.c
    if gcc -c conftest2.c -o conftest.o 2> conftest.err && grep -q main conftest2.c; then
        echo "check $i: `expr $i + 1` yes" >> config.log
    fi
    rm -f conftest*
    i=$((i + 1))
done
"""

MAKEFILE = """all: $(patsubst %.c,%.o,$(wildcard part*.c))
%.o: %.c
\tgcc -O1 -c $< -o $@
.PHONY: all
"""

PART = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item { struct item *next; char name[32]; };
struct item *add_%(n)d(struct item *head, const char *name) {
    struct item *item = malloc(sizeof(*item));
    if (!item)
        return head;
    snprintf(item->name, sizeof(item->name), "%%s-%(n)d", name);
    item->next = head;
    return item;
}
"""


class Library(Tool):
    name = "library, no trace"
    text = "the library alone with SEEP_OUT=/dev/null"

    def wrap(self, context, command, environment):
        environment["SEEP_OUT"] = os.devnull
        return command, environment, context.library


class Run(Tool):
    def __init__(self, name, options):
        self.name, self.options = name, options
        self.text = " ".join(["seep run -q"] + options)

    def wrap(self, context, command, environment):
        out = os.path.join(context.scratch, "processes.seep")
        return [context.seep, "run", "-q", "-o", out] + self.options + ["--"] + command, environment, None


def tools():
    return [Tool(), Library(), Run("seep run --scan no", ["--scan", "no"]), Run("seep run", [])]


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def cases(context):
    """(name, command, children or 0: the whole is shown, what to do before each run)"""
    children = 50 if context.quick else 200
    folder = os.path.join(context.scratch, "processes")
    os.makedirs(folder, exist_ok=True)
    write(os.path.join(folder, "configure"), CONFIGURE % CHECKS)
    write(os.path.join(folder, "Makefile"), MAKEFILE)
    for number in range(FILES):
        write(os.path.join(folder, "part%d.c" % number), PART % {"n": number})
    found = [("/bin/true in a shell loop, a child", ["/bin/sh", "-c", TRUE % children], children),
             ("/bin/cat /dev/null in a shell loop, a child", ["/bin/sh", "-c", CAT % children], children)]
    if common.program("bash"):
        found.append(("a subshell of bash, a child", [common.program("bash"), "-c", SUBSHELL % children], children))
    found.append(("%d checks as configure makes them" % CHECKS, ["/bin/sh", "./configure"], 0))
    if common.program("make"):
        found.append(("make -j2, %d small files" % FILES, [common.program("make"), "-s", "-j2"], 0))
    return folder, found


def run_processes(context):
    if not context.seep:
        raise common.Failed("this build has no tool")
    folder, found = cases(context)
    results = []
    for name, command, children in found:
        say(name)

        def once(tool, command=command, children=children):
            for left in os.listdir(folder):
                if left.endswith((".o", ".log")):
                    os.remove(os.path.join(folder, left))
            wrapped, environment, preload = tool.wrap(context, command, dict(context.environment))
            return take(context, wrapped, environment, 120, preload=preload, cwd=folder).cpu_s / (children or 1)

        taken = interleave(tools(), context.runs, once, name)
        results.append({"case": name, "a_child": bool(children),
                        "tools": {tool: values if "failed" in values else {"cpu_s": figure(values)}
                                  for tool, values in taken.items()}})
    return {"cases": results}
