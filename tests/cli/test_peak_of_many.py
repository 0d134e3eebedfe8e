# SPDX-License-Identifier: BSD-2-Clause
"""FILE@peak of several processes: that each is at its own peak is said, and how each came and ended is kept."""
import json

import messages


def test_each_at_its_own_peak(run, seep, tmp_path):
    trace = tmp_path / "t.seep"
    assert run(seep, "run", "-q", "-o", trace, "--", "sh", "-c", "ls / >/dev/null; exec cat /dev/null").returncode == 0
    now, then = (json.loads(run(seep, "report", "--json", source).stdout)["processes"] for source in (trace, f"{trace}@peak"))
    assert len(now) >= 3
    assert [(one["process"]["exit"], one["process"]["went_on"]) for one in then] == \
        [(one["process"]["exit"], one["process"]["went_on"]) for one in now]
    codes = [note["code"] for one in then for note in one["health"]["notes"]]
    assert codes.count("peaks_apart") == 1
    assert not [note for one in now for note in one["health"]["notes"] if note["code"] == "peaks_apart"]
    text = run(seep, "report", f"{trace}@peak").stdout
    assert text.count("each process at its own peak; they were not at the same moment") == 1, text
    assert "exec cat" in text, text


def test_a_trace_without_its_peak(run, seep, root):
    """What was not kept is not ordered by, and what keeps it is named."""
    trace = f"{root}/tests/golden/v1-tiny.seep"
    text = run(seep, "report", "--sort", "peak", trace).stdout
    assert "highest peak of its own first\n" in text and messages.PEAK_NOT_KEPT in text
    done = run(seep, "report", f"{trace}@peak")
    assert done.returncode == 1 and messages.PEAK_NOT_KEPT in done.stderr and done.stderr.count("\n") == 1, done
