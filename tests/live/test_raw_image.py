# SPDX-License-Identifier: BSD-2-Clause
"""The raw dump that the library alone leaves: a second reader, the witness and the tool agree on it."""
import os
import struct

import pytest
from harness import BUILD, LIBSEEP, PROGRAMS, WITNESS, environment, need, no_losses, read_witness, report, run
from harness import totals as totals_of
from raw_image import Image
from small_programs import built_program, program_source

COMMANDS = {
    'plain': [PROGRAMS / 'gcc-O2@plain'],
    'family': [PROGRAMS / 'gcc-O2@family'],
    'threads': [PROGRAMS / 'gcc-O2@threads'],
    'many_threads': [PROGRAMS / 'gcc-O2@many_threads'],
    **{f'slots {n}': [PROGRAMS / 'gcc-O2@slots', str(n)] for n in (4, 5, 6, 11)},
    'storm': [PROGRAMS / 'gcc-O2@storm'],
    'failures': [PROGRAMS / 'gcc-O2@failures'],
    'operators': [PROGRAMS / 'gcc-O2@operators'],
    'containers': [PROGRAMS / 'gcc-O2@containers'],
    'sqlite3': [
        'sqlite3',
        ':memory:',
        'create table t(a); with recursive c(n) as (select 1 union all select n + 1 '
        'from c where n < 5000) insert into t select hex(n) from c; select sum(length(a)) from t;',
    ],
    'perl': ['perl', '-e', 'my @x = map { "v" x $_ } 1..2000; print scalar @x'],
    'python3': [
        '/usr/bin/python3',
        '-S',
        '-c',
        'import json; x = json.loads(json.dumps([{"a": i} for i in range(5000)]))',
    ],
}


@pytest.mark.parametrize('name', COMMANDS)
def test_three_say_the_same(name, tmp_path):
    need(COMMANDS[name][0])
    env = environment(
        LD_PRELOAD=f'{LIBSEEP}:{WITNESS}',
        SEEP_OUT=tmp_path / 'x.%p.seep',
        PYTHONMALLOC='malloc',
        COUNT_SHIM_OUT=tmp_path / 'witness',
    )
    done = run(COMMANDS[name], env=env)
    assert done.code == 0, done
    (trace,) = tmp_path.glob('x.*.seep')
    image = Image(trace)
    totals = image.totals()
    (witness,) = read_witness(tmp_path)
    saw = witness['now']
    assert totals['allocations'] == saw['allocations']
    if name != 'operators':  # operator new rounds sizes up before it calls the allocator
        assert totals['allocated_bytes'] == saw['bytes']
    assert totals['frees'] + totals['unknown_frees'] == saw['frees']
    assert not any(image.lost), image.lost
    assert image.state == 3 and image.exit_code == 0

    blocks = image.blocks()
    assert len(blocks) == totals['allocations'] - totals['frees']
    assert sum(size for _, size in blocks) == totals['allocated_bytes'] - totals['freed_bytes']
    assert all(a + size <= b for (a, size), (b, _) in zip(blocks, blocks[1:])), 'blocks overlap'

    told = totals_of(trace)[0]['totals']
    for key in ('allocations', 'allocated_bytes', 'frees', 'freed_bytes'):
        assert told[key] == totals[key], key
    assert {k: v for k, v in told['by_function'].items() if v} == totals['by_function']


def test_the_reader_sees_damage(tmp_path):
    """A reader that believes everything proves nothing: it must notice a dump that was cut or changed."""
    env = environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'x.seep')
    assert run([PROGRAMS / 'gcc-O2@plain'], env=env).code == 0
    whole = (tmp_path / 'x.seep').read_bytes()
    for broken in (
        whole[:-16],
        whole[: len(whole) // 2],
        b'X' + whole[1:],
        whole[:-8] + struct.pack('=Q', 1),
    ):
        (tmp_path / 'broken').write_bytes(broken)
        with pytest.raises((AssertionError, struct.error)):
            Image(tmp_path / 'broken')


def test_a_dump_replaces_nothing_but_files(tmp_path):
    pipe, folder = tmp_path / 'pipe', tmp_path / 'folder'
    os.mkfifo(pipe)
    folder.mkdir()
    for out in (pipe, folder):
        done = run(['/bin/true'], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=out))
        assert (done.code, done.err) == (0, b'')
    assert pipe.is_fifo() and sorted(os.listdir(tmp_path)) == ['folder', 'pipe']


@pytest.mark.parametrize('mode', ['live', 'record'])
@pytest.mark.parametrize('way', ['two-exits', 'two-ways'])
def test_two_threads_leave_at_once(way, mode, tmp_path):
    """The one that would end the process first waits for the one that writes the file."""
    need('gcc')
    program = built_program('alone_two_leave.c', tmp_path, '-O1', '-fno-builtin')
    library = BUILD / ('libseep-record.so' if mode == 'record' else 'libseep.so')
    (tmp_path / 'out').mkdir()
    for i in range(10):
        env = environment(LD_PRELOAD=library, SEEP_MODE=mode, SEEP_OUT=tmp_path / f'out/{i}.seep')
        done = run([program, way], env=env)
        assert (done.code, done.out, done.err) == (7, b'', b''), done
        process, = report(tmp_path / f'out/{i}.seep')
        no_losses(process)
        assert process['health']['complete'] and process['process']['exit'] == {'code': 7}, process
        assert max(site['live_blocks'] for site in process['sites']) == 100000, process
    assert sorted(os.listdir(tmp_path / 'out')) == [f'{i}.seep' for i in range(10)]


@pytest.mark.parametrize('call', range(20, 45, 4))
def test_a_thread_leaves_while_another_begins_the_file(call, tmp_path):
    """A system call of the thread takes long: one of the calls that begin the file for its events, in some cases. The thread makes
    events while the file is closed, and the report tells of these."""
    need('gcc')
    program = built_program('alone_leaves_early.c', tmp_path, '-O1', '-fno-builtin')
    (tmp_path / 'out').mkdir()
    env = environment(LD_PRELOAD=BUILD / 'tests/live/libseep-skewed.so', SEEP_MODE='record', SEEP_FAULT=f't{call}:d300000',
                      SEEP_FAULT_SEEN=tmp_path / 'seen', SEEP_OUT=tmp_path / 'out/x.seep')
    done = run([program, tmp_path / 'seen'], env=env)
    assert (done.code, done.out, done.err) == (7, b'', b''), done
    process, = report(tmp_path / 'out/x.seep')
    assert set(process['health']['lost']) <= {'event'} and process['process']['exit'] == {'code': 7}, process['health']
    assert os.listdir(tmp_path / 'out') == ['x.seep']


def test_threads_go_on_while_it_is_written(tmp_path):
    """A thread makes sites during the dump. Each block and counter in the dump refers to a site in the dump."""
    need('gcc')
    source, program = tmp_path / 'amid.c', tmp_path / 'amid'
    source.write_text(program_source('alone_exit_amid_new_sites.c'))
    built = run(['gcc', '-O1', '-w', '-fno-optimize-sibling-calls', source, '-o', program, '-pthread'])
    assert built.code == 0, built
    done = run([program], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'amid.seep'))
    assert (done.code, done.out, done.err) == (0, b'', b''), done
    process, = report(tmp_path / 'amid.seep')
    no_losses(process)
    assert process['health']['notes'] == []
