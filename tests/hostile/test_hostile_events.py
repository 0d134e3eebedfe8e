# SPDX-License-Identifier: BSD-2-Clause
"""A recorded program that writes false data into its own image. The tool's memory stays small, and the recording has what the
program did before."""
import struct
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import BUILD, SEEP, environment, most_memory_of, run  # noqa: E402

PAGE, THREADS, POOL = 4096, 4, 7
WHOLE, END = (1 << 64) - 3, (1 << 64) - 1
TARGET = BUILD / 'tests/hostile/hostile-events'
MOST_MB = {'future': 150, 'many': 150, 'site': 150, 'blocks': 150}  # without the limits: 400 and more


@pytest.mark.parametrize('what', MOST_MB)
def test_memory_of_the_tool(what, tmp_path):
    trace = tmp_path / 'x.seep'
    assert most_memory_of(SEEP, 'run', '-q', '--mode', 'record', '-o', trace, '--', TARGET, what) >> 20 < MOST_MB[what]
    report = run([SEEP, 'report', trace])
    assert report.code == 0 and b'hostile-events' in report.out, report


def test_rings_whose_pages_the_tool_would_make(tmp_path):
    """One page for each ring would give the program 4 MiB more, charged to the tool. The program does not get them."""
    done = run([SEEP, 'run', '-q', '--mode', 'record', '-o', tmp_path / 'x.seep', '--', TARGET, 'far'])
    assert done.code == 0, done


def pages_of(data):
    """The place of each page of the image in a raw dump. A page may be there several times; the last one counts."""
    pages, at = {}, 16
    while True:
        offset, size = struct.unpack_from('=QQ', data, at)
        at += 16
        if offset == END:
            return pages
        if offset < WHOLE:
            pages.update((offset + i, at + i) for i in range(0, size, PAGE))
        at += size


def test_rings_of_a_file_that_all_lie_in_one_place(tmp_path):
    """The file claims 131,072 events for each of 1,024 threads, in rings that are holes. The report leaves them out, and says so."""
    trace = tmp_path / 'x.seep'
    env = environment(SEEP_MODE='record', SEEP_OUT=trace, LD_PRELOAD=BUILD / 'libseep-record.so')
    assert run([TARGET, 'nothing'], env=env).code == 0
    data = bytearray(trace.read_bytes())
    pages = pages_of(data)
    head = pages[0]
    areas_off, nr_areas, area_bytes = struct.unpack_from('=IHH', data, head + 32)
    areas = {}
    for i in range(nr_areas):
        at = head + areas_off + i * area_bytes
        areas[struct.unpack_from('=I', data, at + 24)[0]] = at
    (pool,) = struct.unpack_from('=Q', data, areas[POOL])
    (ring_pages,) = struct.unpack_from('=Q', data, head + 920)
    table = pages[pool + ring_pages * PAGE]
    (ring,) = struct.unpack_from('=I', data, table)
    struct.pack_into('=1024I', data, table, *[ring] * 1024)
    struct.pack_into('=QQ6QQ', data, pages[pool + ring * PAGE], 131072, 131072, *[0] * 7)
    struct.pack_into('=Q', data, areas[THREADS] + 16, 1024)
    trace.write_bytes(data)
    report = run([SEEP, 'report', '--at', '1s', trace])
    assert report.code == 0 and b'events of 1024 places make no sense' in report.out, report
