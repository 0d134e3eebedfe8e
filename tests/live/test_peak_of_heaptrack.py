# SPDX-License-Identifier: BSD-2-Clause
"""What was live at the peak, by stack and by function, as heaptrack has it of the same run of real programs."""
import re

import pytest

from harness import SEEP, need, run

PROGRAMS = {
    'awk': ['gawk', 'BEGIN { for (i = 0; i < 30000; i++) a[i] = i "x"; print length(a) }'],
    'bash': ['bash', '-c', 'for i in {1..3000}; do a[$i]=word$i; done; echo ${#a[@]}'],
    'jq': ['jq', '-n', '[range(5000) | {a: ., b: "x\\(.)"}] | map(.a) | add'],
    'm4': ['m4', 'words'],
    'mawk': ['mawk', 'BEGIN { for (i = 0; i < 30000; i++) a[i] = i "x"; print length(a) }'],
    'perl': ['perl', '-e', 'my %h; $h{$_} = "v$_" x 5 for 1 .. 5000; my @k = sort keys %h; print scalar(@k)'],
    'readelf': ['readelf', '-sW', '/bin/bash'],
    'sort': ['sort', '--parallel=1', '-S', '2M', 'words'],
    'sqlite3': ['sqlite3', ':memory:', 'create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c '
                'where x < 10000) insert into t select x, hex(x) from c; select count(*) from t where b > 8 order by a;'],
    'xz': ['xz', '-0', '-k', '-c', '/bin/bash'],
}


def stacks(folded):
    """[(functions, bytes)] below the start of the program, biggest first: before it heaptrack's own libraries allocate."""
    found = []
    for line in folded.splitlines():
        stack, _, size = line.rpartition(' ')
        names = [name.rsplit(' (', 1)[0] for name in stack.split(';')]
        if any(re.match(r'_start$|main$|__libc_start', name) for name in names):
            found.append((names, int(size)))
    return sorted(found, key=lambda stack: -stack[1])


def by_function(found):
    sums = {}
    for names, size in found:
        for name in {name for name in names if not re.search(r'0x[0-9a-f]+$', name)}:
            sums[name] = sums.get(name, 0) + size
    return sums


@pytest.mark.parametrize('name', PROGRAMS)
def test_by_site(name, tmp_path):
    need('heaptrack', 'heaptrack_print', PROGRAMS[name][0])
    trace, theirs, folded = tmp_path / 'seep.seep', tmp_path / 'heaptrack', tmp_path / 'heaptrack.folded'
    (tmp_path / 'words').write_text(''.join(f'word{i} {i % 71}/tcp # what is there at {i}\n' for i in range(400)))
    done = run([SEEP, 'run', '-q', '--children', 'ignore', '-o', trace, '--', *PROGRAMS[name]], cwd=tmp_path)
    assert done.code == 0, done
    done = run(['heaptrack', '-o', theirs, *PROGRAMS[name]], cwd=tmp_path)
    assert done.code == 0, done
    (data,) = tmp_path.glob('heaptrack.[zg]*')
    done = run(['heaptrack_print', '-f', data, '-p', '0', '-a', '0', '-T', '0', '--disable-builtin-suppressions',
                '--flamegraph-cost-type', 'peak', '-F', folded])
    assert done.code == 0, done
    heaptrack = stacks(folded.read_text())
    done = run([SEEP, 'export', '--format', 'folded', '--full-names', '--full-stacks', f'{trace}@peak'])
    assert done.code == 0, done
    seep = stacks(done.out.decode())
    peak = sum(size for _, size in heaptrack)
    slack = peak // 100
    assert peak > 20000 and abs(sum(size for _, size in seep) - peak) <= slack
    large = [(a[1], b[1]) for a, b in zip(heaptrack, seep) if max(a[1], b[1]) > slack]
    assert large and all(abs(a - b) <= slack for a, b in large), large
    a, b = by_function(heaptrack), by_function(seep)
    both = [function for function in a if function in b]
    assert len(both) >= 3 and all(abs(a[function] - b[function]) <= slack for function in both), \
        [(function, a[function], b[function]) for function in both if abs(a[function] - b[function]) > slack]
