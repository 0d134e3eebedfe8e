# SPDX-License-Identifier: BSD-2-Clause
"""Mappings of the program, in `seep run` and in the raw dump: exact counts, apart from the heap's."""
import subprocess

import pytest
import messages
import report_json
from harness import BUILD, LIBSEEP, SEEP, environment, need, no_losses, plain_name, run, traced
from raw_image import Image
from small_programs import program_source

COVERS = [
    ('mmap', 'covered', 'test_every_way_to_map', ''),
    ('munmap of a part', 'covered', 'test_every_way_to_map', ''),
    ('mremap that moves', 'covered', 'test_every_way_to_map', ''),
    ('brk and sbrk', 'covered', 'test_every_way_to_map', ''),
]

PROGRAM = BUILD / 'tests/live/live-mappings'

# By function and via: calls, pages mapped, calls that unmapped, pages unmapped, live pieces. What mremap
# takes from a mapping counts as an unmap of it and as a map at the mremap.
EXPECTED = {
    ('split', 'mmap'): (1, 10, 2, 3, 2),
    ('trim', 'mmap'): (1, 10, 2, 5, 1),
    ('over_several', 'mmap'): (4, 18, 4, 18, 0),
    ('grow', 'mmap'): (1, 4, 1, 4, 0),
    ('grow', 'mremap'): (2, 72, 1, 64, 1),
    ('move', 'mmap'): (2, 4, 2, 4, 0),
    ('move', 'mremap'): (1, 2, 0, 0, 1),
    ('twice', 'mmap'): (1, 3, 0, 0, 1),
    ('twice', 'mremap'): (1, 3, 0, 0, 1),
    ('file', 'mmap'): (1, 2, 0, 0, 1),
    ('failing', 'mmap'): (1, 1, 1, 1, 0),
}
BREAK = {('move_break', 'sbrk'): (2, 400, 1, 100), ('move_break', 'brk'): (1, 8192, 1, 4096)}


def by_function(process):
    """The sites of the program itself, by the function below the shared helper, summed."""
    seen = {}
    for site in process['mappings']['sites']:
        names = [plain_name(f['function']) for f in site['stack'] if f['module'].endswith('live-mappings')]
        if not names:
            continue
        name = names[1] if names[0] == 'anonymous' else names[0]
        figures = [site[k] for k in ('maps', 'mapped_bytes', 'unmaps', 'unmapped_bytes', 'live')]
        before = seen.get((name, site['via']), [0] * 5)
        seen[name, site['via']] = [a + b for a, b in zip(before, figures)]
    return seen


def test_every_way_to_map(tmp_path):
    plain = run([PROGRAM])
    assert plain.code == 0, plain
    under = traced([PROGRAM], tmp_path)
    assert (under.code, under.out, under.err) == (0, plain.out, plain.err)
    page = int(plain.out)
    (process,) = under.report()
    no_losses(process)
    seen = by_function(process)
    for key, (maps, pages, unmaps, gone, live) in EXPECTED.items():
        # over_several: the two splits of the reserved range are pieces of the same site
        want = [maps, pages * page, unmaps, gone * page, live]
        assert seen[key] == want, key
    for key, want in BREAK.items():
        assert seen[key][:4] == list(want), key
    assert set(seen) == {*EXPECTED, *BREAK}

    totals = process['mappings']['totals']
    for key in ('maps', 'mapped_bytes', 'unmapped_bytes', 'live', 'live_bytes'):
        assert totals[key] == sum(site[key] for site in process['mappings']['sites']), key
    assert totals['live_bytes'] == totals['mapped_bytes'] - totals['unmapped_bytes']
    assert totals['peak_bytes'] >= totals['live_bytes']
    assert not any(via in process['totals']['by_function'] for via in ('mmap', 'mremap', 'brk', 'sbrk'))
    assert all(site['via'] not in ('mmap', 'mremap', 'brk', 'sbrk') for site in process['sites'])


def test_the_raw_dump_says_the_same(tmp_path):
    out = tmp_path / 'raw.seep'
    done = run([PROGRAM], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=out))
    assert done.code == 0, done
    page = int(done.out)
    image = Image(out)
    assert not any(image.lost)
    whole, summed = image.mapping_totals()
    assert whole[0:2] == summed[0:2] and whole[3] == summed[3]
    left = image.mappings()
    for (start, size, _), (after, _, _) in zip(left, left[1:]):
        assert start + size <= after, 'mappings overlap'
    assert sum(size for _, size, _ in left) == whole[1] - whole[3]
    sizes = sorted(size // page for _, size, via in left if via == 'mmap')
    for pages in (3, 4, 5, 3, 2):
        assert pages in sizes
        sizes.remove(pages)
    assert sorted(size // page for _, size, via in left if via == 'mremap') == [2, 3, 8]
    assert sum(size for _, size, via in left if via == 'sbrk') == 300
    assert sum(size for _, size, via in left if via == 'brk') == 4096


def test_many_that_come_and_go(tmp_path):
    (process,) = traced([PROGRAM, 'many'], tmp_path).report()
    no_losses(process)
    (site,) = [s for s in process['mappings']['sites'] if s['maps'] == 100000]
    assert (site['unmaps'], site['live'], site['live_bytes']) == (100000, 0, 0)


def test_the_text_report_has_a_section(tmp_path):
    under = traced([PROGRAM], tmp_path)
    done = run([BUILD / 'seep', 'report', '--top', '0', under.trace])
    assert done.code == 0, done
    text = done.out.decode()
    assert messages.MAPPINGS + ': ' in text
    for name in ('split', 'trim', 'grow', 'move', 'twice', 'file'):
        assert f'      {name} (' in text, name


@pytest.mark.parametrize('program', [['/bin/true'], ['/bin/ls', '/']])
def test_programs_that_map_nothing_have_no_section(program, tmp_path):
    under = traced(program, tmp_path)
    (process,) = under.report()
    done = run([BUILD / 'seep', 'report', under.trace])
    assert (messages.MAPPINGS in done.out.decode()) == (process['mappings']['totals']['maps'] > 0), done


def test_small_mappings_in_a_row_are_read_together(tmp_path):
    """Not by a call for each of 4,000; and each word of them is found where it is."""
    need('strace', 'gcc')
    program, log = tmp_path / 'many', tmp_path / 'calls'
    (tmp_path / 'many.c').write_text(program_source('private_memory_many.c'))
    assert run(['gcc', '-D_GNU_SOURCE', '-w', '-o', program, program.with_suffix('.c')]).code == 0
    command = [SEEP, 'run', '-q', '--scan', 'no', '-o', tmp_path / 'x.seep', '--', program]
    with subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        pid = int(process.stdout.readline())
        done = run(['strace', '-f', '-e', 'trace=process_vm_readv', '-o', log, SEEP, 'scan', '--json', '--blocks', '--top', '0', pid])
        process.communicate(b'\n', timeout=60)
    if b'ptrace' in done.err and not done.out:
        pytest.skip(f'strace cannot trace here: {done}')
    site, = [site for site in report_json.loads(done.out)['sites'] if site['size_max'] == 100]
    assert {kind: found['blocks'] for kind, found in site['kinds'].items()} == {'reachable': 3500, 'lost': 500}, site['kinds']
    assert 0 < log.read_text().count('process_vm_readv') < 500
