# SPDX-License-Identifier: BSD-2-Clause
"""What seep says of generated histories (bench/growth.c): how many leaks are found, how often it cries wolf."""
import json
import os
import subprocess

import common

# Not those by which the thresholds were chosen.
SEED, HISTORIES = 20261121, 1000
POINTS = (20, 10, 40)


def run_growth(context):
    host = os.path.join(common.ROOT, "src", "host")
    program = os.path.join(context.scratch, "growth")
    subprocess.run(["gcc", "-O2", "-std=gnu11", "-I" + host, "-I" + os.path.join(common.ROOT, "src", "common"), "-o", program, os.path.join(common.BENCH, "growth.c"),
                    os.path.join(host, "growth", "trend.c"), "-lm"], check=True)
    results = []
    for points in POINTS:
        done = subprocess.run([program, str(SEED), str(points), str(HISTORIES)], stdout=subprocess.PIPE, check=True)
        results.append(json.loads(done.stdout))
        for case in results[-1]["cases"]:
            common.say("growth: %d points, %s: %d of %d said to grow" % (points, case["case"], case["growing"], HISTORIES))
    return {"runs": results}
