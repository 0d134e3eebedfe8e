# SPDX-License-Identifier: BSD-2-Clause
"""The JSON report (schema 2), and that of a diff, with what its tables say put in place: stacks as lists of frames, innermost first,
notes and holders as texts (each note with its code). For tests that look at single sites."""
import json


class Note(str):
    """The text of a note; `code` says which it is in every wording."""

    def __new__(cls, note):
        self = super().__new__(cls, note["text"])
        self.code = note["code"]
        return self


def codes(process):
    """The codes of the notes of a process that was spread."""
    return [note.code for note in process["health"]["notes"]]


def loads(text):
    """json.loads(), spread."""
    return spread(json.loads(text))


def spread(report):
    """Changes and returns `report`; what has no tables (schema 1, other commands) stays as it is."""
    if "frames" not in report or "stacks" not in report:
        return report
    frames, stacks = report.pop("frames"), report.pop("stacks")

    def stack_of(node):
        stack = []
        while node is not None and node != -1:
            frame, caller = stacks[node]
            assert caller < node, "a caller does not come first"
            stack.append(frames[frame])
            node = caller
        return stack

    if "rows" in report:  # of a diff
        for row in report["rows"]:
            if "stack" in row:
                row["stack"] = stack_of(row["stack"])
        return report
    for process in report.get("processes", [report]):
        sites = list(process["sites"])
        for part in ("mappings", "page_faults", "pools"):
            sites += process.get(part, {}).get("sites", [])
        for site in sites:
            site["stack"] = stack_of(site["stack"])
            if site.get("held_by"):
                site["held_by"] = " / ".join(holder["text"] for holder in site["held_by"])
        for wrong in process["mismatches"]:
            for key in ("allocation_stack", "release_stack"):
                wrong[key] = stack_of(wrong[key])
            if wrong["first_release_stack"] is not None:
                wrong["first_release_stack"] = stack_of(wrong["first_release_stack"])
        process["health"]["notes"] = [Note(note) for note in process["health"]["notes"]]
    return report
