# SPDX-License-Identifier: BSD-2-Clause
"""seep replay: what it does is what was recorded, seen by seep itself; and what it says where it cannot."""
import csv
import io
import json
from pathlib import Path

import pytest
import messages
from harness import LIBSEEP, SEEP, library, need, report, root_only, run
from memory_group import small_memory_group
from recording import EVENTS, all_sections
from small_programs import program_source

HERE = Path(__file__).parent


def build(folder, source, output, *options):
    need('gcc')
    done = run(['gcc', '-g', '-O1', '-fno-builtin', '-pthread', *options, HERE / source, '-o', folder / output])
    assert done.code == 0, done
    return folder / output


def record(folder, *command):
    trace = folder / 'recording.seep'
    done = run([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, '--', *command], cwd=folder)
    assert done.code == 0, done
    return trace


def replay(folder, trace, *options, code=0):
    done = run([SEEP, 'replay', '--rounds', 3, *options, trace], cwd=folder)
    assert done.code == code, done
    return done


@pytest.fixture(scope='module')
def threads(tmp_path_factory):
    folder = tmp_path_factory.mktemp('replay')
    return record(folder, build(folder, 'replay_threads.c', 'program'))


@pytest.mark.parametrize('order', ['blocks', 'exact'])
def test_it_does_what_was_recorded(threads, tmp_path, order):
    """libseep.so as the allocator: it sees each call of the replayer, which all go on to glibc."""
    result = json.loads(replay(tmp_path, threads, '--order', order, '--json', '--allocator', LIBSEEP).out)
    [recorded] = report(threads)
    wanted = recorded['totals']
    assert result['threads'] == 9 and result['skipped_frees'] == 0
    assert result['peak_live_bytes'] == report(threads, '--at', 'peak')[0]['totals']['live_bytes']
    # A realloc is one call, and one allocation and one free.
    assert result['calls'] == wanted['allocations'] + wanted['frees'] - wanted['by_function']['realloc']
    traces = sorted(tmp_path.glob('seep.seep-replayer.*.seep'))
    assert len(traces) == 1 + 1 + 3  # memory, one to be warm, and the rounds
    for one in [report(trace)[0]['totals'] for trace in traces]:
        # And what its threads' stacks take.
        for key in ('allocations', 'frees'):
            assert 0 <= one[key] - wanted[key] <= 3 * 9, (key, one, wanted)
        for function in ('malloc', 'realloc', 'posix_memalign'):
            assert one['by_function'][function] == wanted['by_function'][function], function
        assert 0 <= one['live_bytes'] - wanted['live_bytes'] < 9 * 1024


@pytest.mark.parametrize('nr, order', [(300, 'blocks'), (1500, 'blocks'), (300, 'exact')])
def test_a_crowd_of_threads(tmp_path, nr, order):
    """Each waits asleep for what it waits for. If all of them yielded in turn, this would take minutes."""
    trace = record(tmp_path, build(tmp_path, 'replay_crowd.c', 'program'), str(nr))
    result = json.loads(replay(tmp_path, trace, '--order', order, '--json').out)
    totals = report(trace)[0]['totals']
    assert result['threads'] == nr + 1 and result['allocators'][0]['failed_calls'] == 0
    assert result['calls'] == totals['allocations'] + totals['frees'] >= 202 * nr  # it has no realloc
    assert result['waits'] < 4 * nr if order == 'blocks' else result['waits'] >= nr


def test_a_table_of_allocators(threads, tmp_path):
    jemalloc = library('libjemalloc.so.2')
    done = replay(tmp_path, threads, '--allocator', f'glibc,glibc:arena_max=1,{jemalloc},jemalloc')
    lines = done.out.decode().splitlines()
    assert lines[0].startswith('replayed program, pid ') and ' on 9 threads; at its peak ' in lines[0]
    rows = [line.split()[0] for line in lines[4 : lines.index('', 4)] if line[0] != ' ']  # figures of a long name are in the next line
    assert rows == ['glibc', 'glibc:arena_max=1', str(jemalloc), 'jemalloc'], lines
    memory = record(tmp_path, build(tmp_path, 'replay_memory.c', 'memory'))  # of one thread, so that no time is that of waiting
    rows = list(csv.DictReader(io.StringIO(replay(tmp_path, memory, '--allocator', 'glibc,jemalloc', '--csv').out.decode())))
    assert [row['allocator'] for row in rows] == ['glibc', 'jemalloc'] and float(rows[0]['ratio'] or 1) == 1, rows
    for row in rows:
        assert int(row['peak_rss_bytes']) > 50000 and float(row['free_p50_ns']) > 0
        # There is no ratio of a time that is below noise, because of other work on the machine.
        assert bool(row['ratio']) == bool(row['time_ns'] and rows[0]['time_ns']), rows
        if row['ratio']:
            assert float(row['time_ns']) > 0 and float(row['ratio_low']) <= float(row['ratio']) <= float(row['ratio_high'])


def test_other_processes_are_told(threads, tmp_path):
    """Without --pid the first process is replayed: of a compiler, the driver."""
    trace = record(tmp_path, 'sh', '-c', 'expr 1; expr 2; :')
    assert b'the recording has 2 more processes: --pid ' in replay(tmp_path, trace).out
    assert b'--pid' not in replay(tmp_path, threads).out


def test_memory_is_that_of_the_program(tmp_path):
    """Blocks whose pages are known: 64 MiB, of which half are released to the kernel and stay as they are in between."""
    program = tmp_path / 'program.c'
    program.write_bytes((HERE / 'replay_memory.c').read_bytes())
    assert run(['gcc', '-O1', '-fno-builtin', program, '-o', tmp_path / 'program']).code == 0
    trace = record(tmp_path, tmp_path / 'program')
    result = json.loads(replay(tmp_path, trace, '--json').out)
    [row] = result['allocators']
    live = 64 << 20
    assert result['peak_live_bytes'] == pytest.approx(live, rel=0.01)
    assert row['peak_rss_bytes'] == pytest.approx(live, rel=0.03) and row['rss_over_live_at_peak'] < 1.05
    # Every other block is gone, and glibc keeps what is between others.
    assert row['end_rss_bytes'] > 0.9 * live and result['samples'][-1]['live_bytes'] == pytest.approx(live / 2, rel=0.02)
    touched = json.loads(replay(tmp_path, trace, '--json', '--touch', 'none').out)['allocators'][0]
    assert touched['peak_rss_bytes'] < live / 2 and touched['page_faults'] < row['page_faults'] / 2


def test_what_was_in_memory_is_what_is_written(tmp_path):
    """Of 24 blocks of 4 MiB every fourth page was written, and the tool saw that while they lived."""
    program = build(tmp_path, 'replay_sparse.c', 'program')
    trace = record(tmp_path, program)
    blocks, written = 24 * (4 << 20), 24 * (1 << 20)
    [seen] = json.loads(replay(tmp_path, trace, '--json', '--touch', 'recorded').out)['allocators']
    [whole] = json.loads(replay(tmp_path, trace, '--json', '--touch', 'pages').out)['allocators']
    assert json.loads(replay(tmp_path, trace, '--json').out)['allocators'][0]['peak_rss_bytes'] < 1.05 * written
    assert whole['peak_rss_bytes'] == pytest.approx(blocks, rel=0.03)
    assert seen['peak_rss_bytes'] == pytest.approx(written, rel=0.05)


def test_blocks_that_were_not_looked_at_are_written_as_those_like_them(tmp_path):
    """1,000 blocks of 64 KiB of which a byte was written, and 1,000 more that were gone before the tool looked. The last page of each is
    the header of the next. The estimate is in pages, as what was seen is: a mean in bytes wrote a few blocks into one page more."""
    program = build(tmp_path, 'replay_brief.c', 'program')
    trace = tmp_path / 'app.seep'
    kib = int(run([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, '--', program]).out)
    [row] = json.loads(replay(tmp_path, trace, '--json', '--touch', 'recorded').out)['allocators']
    assert 2000 * 4 < kib < 2000 * 8
    assert row['peak_rss_bytes'] / 1024 == pytest.approx(kib, rel=0.05)


def compiled(compiler, source, program):
    done = run([*compiler.split(), '-O2', '-fno-builtin', '-Wall', '-Wextra', '-Werror', source, '-o', program, '-pthread'])
    assert done.code == 0 and not done.err, done


@pytest.mark.parametrize('compiler', ['clang', 'musl-gcc', 'musl-gcc -static'])
def test_a_generated_program_is_for_other_compilers_too(threads, tmp_path, compiler):
    """Other compilers have fewer headers, and other warnings."""
    need(compiler.split()[0])
    assert run([SEEP, 'replay', '--generate', tmp_path / 'w.c', threads]).code == 0
    compiled(compiler, tmp_path / 'w.c', tmp_path / 'w')
    result = json.loads(replay(tmp_path, threads, '--json').out)
    done = run([tmp_path / 'w'])
    words = done.out.decode().split()
    assert done.code == 0 and int(words[0]) == result['calls'] and words[3] == str(result['threads']), done


@pytest.mark.parametrize('options', [(), ('--order', 'exact'), ('--touch', 'first')])
def test_a_program_that_is_generated_makes_the_same_calls(threads, tmp_path, options):
    """Compiled without seep, it makes the calls of the recording, seen by libseep.so, and its peak is that of the replay."""
    source, program, trace = tmp_path / 'workload.c', tmp_path / 'workload', tmp_path / 'seen.seep'
    done = run([SEEP, 'replay', '--generate', source, *options, threads])
    assert done.code == 0 and not done.out and not done.err, done
    assert str(tmp_path) not in source.read_text() and 'program' in source.read_text()
    compiled('gcc', source, program)
    result = json.loads(replay(tmp_path, threads, '--json', *options).out)
    peaks = []
    for _ in range(3):
        done = run([program])
        assert done.code == 0, done
        words = done.out.decode().split()
        assert int(words[0]) == result['calls'] and words[3] == str(result['threads'])
        peaks.append(int(words[words.index('KiB') - 1]) * 1024)
    [row] = result['allocators']
    # Nine threads in one order or another: arenas are shared in different ways.
    assert min(abs(peak - row['peak_rss_bytes']) for peak in peaks) < 0.1 * row['peak_rss_bytes'] + 65536, (peaks, row)
    assert run([SEEP, 'run', '-q', '--scan', 'no', '-o', trace, '--', program]).code == 0
    [wanted], [seen] = report(threads), report(trace)
    for function in ('malloc', 'realloc', 'posix_memalign'):
        # And what printf takes.
        assert 0 <= seen['totals']['by_function'][function] - wanted['totals']['by_function'][function] <= 1, function


def test_the_peak_of_a_generated_program(tmp_path):
    program = build(tmp_path, 'replay_memory.c', 'program')
    trace = record(tmp_path, program)
    assert run([SEEP, 'replay', '--generate', tmp_path / 'w.c', trace]).code == 0
    assert run(['gcc', '-O2', '-fno-builtin', '-pthread', 'w.c', '-o', 'w'], cwd=tmp_path).code == 0
    [row] = json.loads(replay(tmp_path, trace, '--json').out)['allocators']
    words = run([tmp_path / 'w']).out.decode().split()
    peak = int(words[words.index('KiB') - 1]) * 1024
    assert peak == pytest.approx(row['peak_rss_bytes'], abs=16384)


def test_more_memory_than_there_is_is_said_before_it_starts(tmp_path):
    program = build(tmp_path, 'replay_vast.c', 'program')
    if run([program]).code != 0:
        pytest.skip('this kernel does not promise memory that it does not have')
    trace = record(tmp_path, program)
    done = replay(tmp_path, trace, '--touch', 'pages', code=1)
    assert b'program wrote to 4.00 TiB that were live' in done.err and b'nothing was run' in done.err, done
    assert done.err.count(b'\n') == 1 and b'--touch' in done.err, done
    [row] = json.loads(replay(tmp_path, trace, '--json', '--touch', 'none').out)['allocators']
    assert row['peak_rss_bytes'] < 1 << 30


def test_a_plan_that_has_no_room_is_said_before_the_recording_is_read(tmp_path):
    """A plan takes 16 bytes an event. In a group of 48 MiB four million events are too many, and one tenth of them is not."""
    root_only()
    program = tmp_path / 'billion'
    done = run(['gcc', '-O1', '-fno-builtin', HERE.parents[1] / 'bench/workloads/billion.c', '-o', program])
    assert done.code == 0, done
    many, few = tmp_path / 'many.seep', tmp_path / 'few.seep'
    for trace, count in ((many, 4000000), (few, 400000)):
        assert run([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, '--', program, count]).code == 0
    group = small_memory_group(48 << 20)
    try:
        prefix = ['sh', '-c', f'echo $$ > {group}/cgroup.procs && exec "$@"', 'sh']
        done = run([*prefix, SEEP, 'replay', '--rounds', 3, many])
        assert done.code == 1 and b'the plan of ' in done.err and done.err.count(b'\n') == 1, done
        done = run([*prefix, SEEP, 'replay', '--rounds', 3, few])
        assert done.code == 0, done
    finally:
        group.rmdir()


def test_a_plan_is_in_memory_once(tmp_path):
    """Four million operations take 64 MB of a memory file. The heap has only blocks that are not full."""
    program, trace = tmp_path / 'billion', tmp_path / 'many.seep'
    assert run(['gcc', '-O1', '-fno-builtin', HERE.parents[1] / 'bench/workloads/billion.c', '-o', program]).code == 0
    assert run([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, '--', program, 4000000]).code == 0
    source = tmp_path / 'workload.c'
    done = run(['sh', '-c', 'ulimit -d 65536 && exec "$@"', 'sh', SEEP, 'replay', '--generate', source, trace])
    assert done.code == 0 and source.stat().st_size > 4000000, done


def test_a_limit_of_file_sizes(threads, tmp_path):
    """The limit is for disks: memory files of a replay may be larger than a soft limit, even if a write crosses it."""
    for kib in (1, 20):
        done = run(['bash', '-c', f'ulimit -S -f {kib} && exec "$@"', 'bash', SEEP, 'replay', '--rounds', 3, threads], cwd=tmp_path)
        assert done.code == 0, done
    done = run(['bash', '-c', 'ulimit -f 20 && exec "$@"', 'bash', SEEP, 'replay', '--rounds', 3, threads], cwd=tmp_path)
    assert done.code == 1 and b'files may have 20 KiB at most' in done.err, done


def test_a_recording_in_which_nothing_was_seen(tmp_path):
    program = tmp_path / 'small.c'
    program.write_text(program_source('replay_small.c'))
    assert run(['gcc', '-fno-builtin', program, '-o', tmp_path / 'small']).code == 0
    done = replay(tmp_path, record(tmp_path, tmp_path / 'small'), '--touch', 'recorded', code=1)
    assert b'not recorded what was in memory' in done.err and b'--touch pages' in done.err, done


@pytest.mark.parametrize('options, said', [
    (['--allocator', 'nosuch'], b"no library of 'nosuch' is installed"),
    (['--allocator', 'glibc:arena_max'], b'no value (glibc:arena_max=1, for example)'),
    (['--allocator', 'glibc:arena_most=1'], b"no tunable 'glibc.malloc.arena_most' (ld.so --list-tunables"),
    (['--allocator', 'glibc:arena_max=1:mxfast=0'], b"no tunable 'mxfast'"),
    (['--allocator', 'glibc,'], messages.EMPTY_IN_LIST.encode()),
    (['--pid', '1'], b"no process 1 in it ('seep report "),
])
def test_wrong_use(threads, tmp_path, options, said):
    done = run([SEEP, 'replay', *options, threads])
    assert done.code in (1, 2) and said in done.err and done.err.count(b'\n') == 1, done


def test_a_program_is_not_written_over_the_recording(threads, tmp_path):
    before = threads.read_bytes()
    done = run([SEEP, 'replay', '--generate', threads, threads])
    assert done.code == 2 and f'{messages.NOT_WRITTEN_OVER} ({messages.NAME_ANOTHER}'.encode() in done.err, done
    assert threads.read_bytes() == before


def test_no_recording(tmp_path):
    trace = tmp_path / 'live.seep'
    assert run([SEEP, 'run', '-q', '-o', trace, 'true']).code == 0
    done = run([SEEP, 'replay', trace])
    assert done.code == 1 and b'--mode record' in done.err, done


@pytest.mark.parametrize('option, said', [
    ('-DDIES=abort()', 'was ended by signal 6'),
    ('-DDIES=puts("never seen"), fputs("heap: corrupted\\nand more\\n", stderr), abort()', 'signal 6 (Aborted): heap: corrupted ('),
    ('-DDIES=*(volatile int *)0 = 1', 'signal 11 ('),
    ('-DDIES=exit(0)', 'ended with status 0 before its end'),
    ('-DDIES=_exit(7)', 'ended with status 7 before its end'),
    ('-DDIES=ftruncate(101, 0), pause()', ' is in a malloc of '),
    ('-DDIES=for (;;)', 'stood still for 1.00 s: thread '),
    ('-DDIES=pause()', ' is in a malloc of '),
    ('-DSTARTS=for (;;)', 'had not begun after 1.00 s'),
    ('-DSTARTS=_exit(3)', 'could not be loaded'),
    ('-DSTARTS=extern int seep_no_such(void); seep_no_such()', 'undefined symbol: seep_no_such'),
])
def test_an_allocator_that_fails(threads, tmp_path, option, said):
    """One line that names it. What does not return is ended."""
    bad = build(tmp_path, 'replay_allocators.c', 'bad.so', '-shared', '-fPIC', option)
    done = replay(tmp_path, threads, '--timeout', '1s', '--allocator', f'glibc,{bad}', code=1)
    assert said in done.err.decode() and str(bad) in done.err.decode() and done.err.count(b'\n') == 1, done


def test_an_allocator_without_memory_has_no_ratio(threads, tmp_path):
    never = build(tmp_path, 'replay_allocators.c', 'never.so', '-shared', '-fPIC', '-DNEVER')
    rows = json.loads(replay(tmp_path, threads, '--json', '--allocator', f'glibc,{never}').out)['allocators']
    assert rows[0]['failed_calls'] == 0 and 1000 < rows[1]['failed_calls'] < 10000
    assert rows[1]['ratio'] is rows[1]['ratio_low'] is rows[1]['ratio_high'] is rows[1]['differs'] is None
    text = replay(tmp_path, threads, '--allocator', f'glibc,{never}').out
    assert b' failed ' in text and b' calls returned no memory' in text, text
    rows = json.loads(replay(tmp_path, threads, '--json', '--allocator', f'{never},glibc').out)['allocators']
    assert rows[0]['ratio'] is rows[1]['ratio'] is None and rows[1]['failed_calls'] == 0


PAUSES = 'for (1 .. 3) { push @all, "x" x ($_ % 99) for 1 .. 20000; select(undef, undef, undef, 0.3) }'  # written at intervals


def test_a_cut_recording_is_replayed_as_far_as_it_goes(tmp_path):
    need('perl')
    trace, cut = record(tmp_path, 'perl', '-e', PAUSES), tmp_path / 'cut.seep'
    whole = trace.read_bytes()
    first, *_, last = [section for section in all_sections(whole) if section.kind == EVENTS]
    cut.write_bytes(whole[:last.end - 1])
    part = json.loads(replay(tmp_path, cut, '--json').out)
    assert 0 < part['calls'] < json.loads(replay(tmp_path, trace, '--json').out)['calls']
    cut.write_bytes(whole[:first.end - 1])
    done = replay(tmp_path, cut, code=1)
    assert b'has no events to replay' in done.err and b'seep report' in done.err and done.err.count(b'\n') == 1, done


def test_recorded_speed(tmp_path):
    trace = record(tmp_path, build(tmp_path, 'replay_memory.c', 'program'))
    result = json.loads(replay(tmp_path, trace, '--json', '--speed', 'recorded').out)
    row = result['allocators'][0]
    assert row['replayer_ns'] > 0 and (row['time_ns'] is None or row['time_ns'] > 0), row  # None: below noise
