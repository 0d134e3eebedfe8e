# SPDX-License-Identifier: BSD-2-Clause
"""Pages of random traces: names that try to be more than text, extreme figures, no site to 400, in three sizes, light and dark.

random.mjs goes through every view of each. SEEP_RANDOM_PAGES is how many there are (6), SEEP_RANDOM_SEED the first seed.
"""
import json
import os
import subprocess

from test_page import ROOT, binary

PAGES = int(os.environ.get("SEEP_RANDOM_PAGES") or 6)
SEED = int(os.environ.get("SEEP_RANDOM_SEED") or 0)
# The lone function without a name; two names that are wider than a phone; groups of nothing, next to characters that hide text.
FOUND = (13, 19, 10, 21, 12)
FIGURES = ("live_bytes", "live_blocks", "allocations", "allocated_bytes", "frees", "freed_bytes", "temporary")


def is_same(shown, wanted):
    """Whole numbers below 2^53 are exact (docs/page.md); above, the page has what a double has of their parts."""
    return shown == wanted if wanted < 1 << 53 else abs(shown - wanted) <= wanted / (1 << 52)


def test_random_traces_are_sound_pages(build, seep, modules, chromium, tmp_path):
    seeds = FOUND if SEED == 0 else range(SEED, SEED + PAGES)
    pages, reports = [], []
    for seed in seeds:
        trace, page = str(tmp_path / f"{seed}.seep"), str(tmp_path / f"{seed}.html")
        subprocess.run([binary(build, "page_traces"), "random", str(seed), trace], check=True, timeout=60)
        subprocess.run([seep, "html", trace, "-o", page], check=True, timeout=60)
        report = subprocess.run([seep, "report", "--json", trace], check=True, timeout=60, stdout=subprocess.PIPE)
        pages.append(page)
        reports.append(json.loads(report.stdout))
    done = subprocess.run(["node", os.path.join(ROOT, "tests", "web", "random.mjs"), modules, chromium], input=json.dumps(pages).encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-3000:]
    for seed, report, found in zip(seeds, reports, json.loads(done.stdout), strict=True):
        assert found["troubles"] == [], seed
        shown, wanted = sorted(found["sites"]), sorted([site[name] for name in FIGURES] for site in report["sites"])
        assert len(shown) == len(wanted), seed
        for one, other in zip(shown, wanted):
            assert all(is_same(a, b) for a, b in zip(one, other)), (seed, one, other)
