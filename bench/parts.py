# SPDX-License-Identifier: BSD-2-Clause
"""Where the cost of an allocation and its free lies: instructions by part of the library, in the pairs of the
micro benchmark and in real programs; and the time of hooks that do nothing, beside untraced and seep.

Callgrind counts each instruction of libseep.so; addr2line says which inlined functions it belongs to, and the
innermost one that PARTS names says the part. Nothing is estimated and nothing is left out.
"""
import collections
import os
import re
import subprocess

import common
import peers
import real
from common import Failed, figure, interleave, say, take

# Part: functions. Of an instruction's functions, innermost first, the first that is here counts.
PARTS = {
    "hooks": "allocated allocated_rarely released_short malloc free calloc realloc new_plain thread_mark_busy thread_mark_idle "
             "thread_leave mode_now free_long reallocate begin_realloc end_realloc delete_block seep_malloc_apart seep_calloc_apart "
             "seep_realloc_apart seep_new_apart seep_free_apart seep_delete_apart seep_free_here seep_allocated_here seep_realloc_here seep_new_here "
             "seep_delete_here done",
    "recent stacks": "recent_find recent_holds recent_is_of recent_stands recent_set recent_none recent_may_be",
    "heap map": "place_of place_elsewhere place_sub place_has map_entry map_take map_sub map_remember_leaf take_block "
                "seep_map_new_leaf seep_map_put_odd seep_map_take_odd",
    "entry and counters": "record_allocation_short record_free_short counters_of counters_in count_sizes count_free count_taken count_allocation "
                "seep_counters_chunk",
    "size classes, net, peaks": "size_class_of count_net net_room_less seep_record_net flush_net",
    "walk": "seep_stack_walk seep_walk_fast seep_walk_outward walk_outward outside_of memo_state_is stack_site seep_stack_site slots_changed grow_memo leave_frame",
    "tree and sites": "find_nodes find_node find_node_in_line seep_path_hash seep_tree_child new_child seep_tree_site find_site add_site append "
                      "list_node list_all_nodes roomy_node_table new_node_table look_up count_cut",
    "keeping a stack": "stack_remember recent_own recent_kept",
    "rules of new code": "seep_rule_learn wipe_stack_below execute_common seep_rule_in seep_rule_pack seep_cfi_row_in seep_module_find roomy_rule_table free_rule_entry "
                         "seep_cfi_find_fde open_table table_entry read_start seep_cfi_read_fde seep_cfi_read_cie seep_cfi_read_fde_body "
                         "read_augmentation seep_cfi_enter_entry seep_cfi_program_start seep_cfi_program_run execute_op execute_cfa execute_register "
                         "execute_location execute_other advance move_to set_rule restore_rule define_cfa redefine_cfa read_block "
                         "seep_cfi_program_row make_rule expressions_fit has_expression seep_cfi_cursor_at seep_cfi_cursor_address seep_cfi_take "
                         "seep_cfi_read_unsigned read_signed seep_cfi_read_uleb seep_cfi_read_sleb seep_cfi_read_format seep_cfi_read_encoded "
                         "seep_cfi_skip_encoded seep_cfi_format_bytes",
    "the long way": "seep_allocated_long seep_released_long seep_record_allocation record_allocation site_of record_free thread_enter is_special "
                    "seep_misuse_check",
    "copies at peaks": "seep_peak_look copy_peak copy_counters chunk_of seep_counters_sum add_chunk",
    "sampling": "sample_skips sample_skips_else_undo sample_skips_free sample_passes sample_count_skipped sample_may_have sample_nr_skipped "
                "filter_index seep_sample_record seep_sample_take seep_sample_put_back seep_sample_note seep_sample_count_free "
                "seep_sample_distance seep_sample_weight seep_sample_bytes_for next_point next_random record_sampled take_sampled",
}
PART_OF = {function: part for part, functions in PARTS.items() for function in functions.split()}
ELSE = "all else"  # start and exit of the process, mainly
HOOKS = ("malloc", "calloc", "realloc")

# name: arguments of the workload `pairs`, settings
PAIRS = {
    "pair, depth 5": (["-d", "5"], {}),
    "pair, depth 20": (["-d", "20"], {}),
    "pair, depth 60": (["-d", "60"], {}),
    "path changes in 3 frames": (["-s", "change", "-k", "3"], {}),
    "256 sites, depth 41": (["-s", "sites", "-d", "41", "-b", "8"], {}),
    "pair, sampled": (["-d", "20"], {"SEEP_SAMPLE": "524288"}),
}
PROGRAMS = ("sqlite3", "jq", "python3", "perl", "cc1 -O2", "cc1plus -O1", "clang -O2", "git log -p")


def read_counts(path, library):
    """({address in the library: instructions}, {function of the library: calls})"""
    names, functions = {}, {}
    cost, calls = collections.Counter(), collections.Counter()
    inside = after_call = False
    address = 0
    callee = callee_object = None
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line[0] in "0123456789+-*":
                fields = line.split()
                word = fields[0]
                address = address + int(word) if word[0] in "+-" else address if word == "*" else int(word, 16)
                if inside and not after_call and len(fields) > 2:
                    cost[address] += int(fields[2])
                after_call = False
                continue
            match = re.match(r"(ob|cob|fn|cfn)=\((\d+)\)(?: (.*))?$", line)
            if match:
                kind, number, name = match.groups()
                if name:
                    (names if kind.endswith("ob") else functions)[number] = name
                if kind == "ob":
                    inside = names[number].endswith(library)
                elif kind == "cob":
                    callee_object = names[number].endswith(library)
                elif kind == "cfn":
                    callee = number
            elif line.startswith("calls="):
                if callee_object if callee_object is not None else inside:
                    calls[functions[callee].split("'")[0]] += int(line[6:].split()[0])
                after_call, callee_object = True, None
    return cost, calls


def parts_of(library, addresses):
    """{address: part}"""
    done = subprocess.run(["addr2line", "-a", "-i", "-f", "-e", library], input="\n".join(map(hex, addresses)) + "\n",
                          stdout=subprocess.PIPE, text=True, check=True, env=common.clean_environment())
    found, address = {}, None
    for number, line in enumerate(done.stdout.splitlines()):
        if line.startswith("0x"):
            address, number_of_first = int(line, 16), number
            found[address] = ELSE
        elif (number - number_of_first) % 2 == 1 and found[address] == ELSE:
            # Copies that gcc makes of a function are called name.constprop.0 and the like; operators by their mangled names.
            function = line.split(".")[0]
            found[address] = PART_OF.get(function, "hooks" if re.match(r"_Z(nw|na|dl|da)", function) else ELSE)
    return found


def count(context, command, settings, stdin=None):
    """Instructions of the library by part, and what it was called for. Failed when it cannot be counted."""
    counts = os.path.join(context.scratch, "callgrind.out")
    environment = dict(context.environment, **settings, SEEP_OUT=os.path.join(context.scratch, "bench.seep"),
                       LD_PRELOAD=context.library)
    with open(stdin or os.devnull, "rb") as source:
        done = subprocess.run([common.program("valgrind"), "--tool=callgrind", "--dump-instr=yes", "--callgrind-out-file=" + counts] +
                              command, env=environment, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              cwd=context.scratch, timeout=600, check=False)
    if done.returncode != 0 or not os.path.exists(counts):
        raise Failed("callgrind: exit status %d" % done.returncode)
    cost, calls = read_counts(counts, os.path.basename(context.library))
    os.remove(counts)
    part_at = parts_of(context.library, list(cost))
    by_part = collections.Counter()
    for address, instructions in cost.items():
        by_part[part_at[address]] += instructions
    allocations = sum(number for name, number in calls.items() if name in HOOKS or name.startswith("operator new"))
    return {"allocations": allocations, "instructions": dict(by_part), "long": calls["seep_allocated_long"],
            "walks": calls["seep_stack_walk"], "new_nodes": calls["new_child"]}


def difference(many, few):
    """Of two runs of different length: free of start and end."""
    return {key: {part: value - few[key].get(part, 0) for part, value in many[key].items()} if isinstance(many[key], dict)
            else many[key] - few[key] for key in many}


def count_all(context):
    """Rows of the table; a case that cannot be counted is left out, and said."""
    def pair(arguments, settings):
        runs = [count(context, [context.plain["pairs"]] + arguments + ["-n", str(n)], settings) for n in (6400, 32000)]
        return difference(runs[1], runs[0])

    ways = [(name, lambda way=way: pair(*way)) for name, way in PAIRS.items()]
    ways += [(case.name, lambda case=case: count(context, case.command, case.settings, case.stdin))
             for case in real.cases(context) if case.name in PROGRAMS]
    rows = []
    for name, way in ways:
        try:
            row = dict(way(), case=name)
        except Failed as trouble:
            say("  %s: not counted: %s" % (name, trouble))
            continue
        rows.append(row)
        say("  %-26s %6.0f instructions an allocation, %5.1f %% walked" % (
            name, sum(row["instructions"].values()) / row["allocations"], 100 * row["walks"] / row["allocations"]))
    return rows


def time_through(context):
    """Nanoseconds of a pair: untraced, with hooks that do nothing, with the least that has to be done, under seep; in turn."""
    through, least = (peers.compiled(context.folder, name) for name in ("through", "least"))
    operations = 4000000

    class Way:
        def __init__(self, name, preload, settings):
            self.name, self.preload, self.settings = name, preload, settings

        def runs(self, asked):
            return asked

    out = {"SEEP_OUT": os.path.join(context.scratch, "bench.%p.seep")}
    ways = [Way("untraced", None, {}), Way("hooks that do nothing", through, {}), Way("the least", least, {}),
            Way("seep sampled", context.library, dict(out, SEEP_SAMPLE="524288")), Way("seep", context.library, out)]

    def once(command, way):
        taken = take(context, command, dict(context.environment, **way.settings), 60, way.preload)
        return taken.cpu_s / operations * 1e9

    rows = []
    for depth in (5, 20, 60):
        command = [context.plain["pairs"], "-d", str(depth), "-n", str(operations)]
        taken = interleave(ways, context.runs, lambda way, command=command: once(command, way), "pair, depth %d" % depth)
        rows.append({"case": "pair, depth %d" % depth, "tools": {
            name: values if "failed" in values else {"ns": figure(values)} for name, values in taken.items()}})
    return rows


def run_parts(context):
    if not common.program("valgrind") or not common.program("addr2line"):
        raise SystemExit("bench: the parts need valgrind and addr2line (binutils)")
    return {"times": time_through(context), "counts": count_all(context), "parts": list(PARTS) + [ELSE]}
