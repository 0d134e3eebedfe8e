# SPDX-License-Identifier: BSD-2-Clause
"""seep attach: code that goes, and other code that comes to its place. The unwinder keeps rows by address, and those of
code that is gone must go as well."""
from harness import BUILD, SEEP, need, report, run
from test_attach import Attached, can, hear, private, say  # noqa: F401 (fixtures)
from small_programs import program_source

# A frame of FRAME bytes, whose code has the same length whatever they are.
LIBRARY = program_source('attach_reload_library.c')

PROGRAM = program_source('attach_reload_program.c')


def test_other_code_at_the_same_address(private, tmp_path):  # noqa: F811
    need('gcc')
    (tmp_path / 'program.c').write_text(PROGRAM)
    libraries = []
    for name, frame in (('small', 24), ('large', 1048)):
        libraries.append(tmp_path / (name + '.so'))
        done = run(['gcc', '-shared', '-fPIC', '-DFRAME=%d' % frame, '-x', 'c', '-', '-o', libraries[-1]],
                   input=LIBRARY.replace('FRAME', str(frame)).encode())
        assert done.code == 0, done
    done = run(['gcc', '-O2', '-fomit-frame-pointer', tmp_path / 'program.c', '-o', tmp_path / 'program', '-ldl'])
    assert done.code == 0, done
    program, trace = private(tmp_path / 'program', *libraries), tmp_path / 'reload.seep'
    attached = Attached('100ms', '-p', program.pid, '-o', '0', '--output', trace)
    for _ in range(6):
        for _ in range(3):  # reports: the tool has taken the news of modules then
            while b' stacks with outstanding allocations:' not in attached.process.stdout.readline():
                pass
        say(program)
        hear(program)
    attached.stop()
    process, = report(trace)
    assert process['health']['lost'] == {} and process['health']['stacks_cut'] == 0, process['health']
    seen = {}
    for site in process['sites']:
        names = [frame['function'] for frame in site['stack']]
        if names[0] == 'allocate':
            assert names[:4] == ['allocate', 'through', 'one', 'main'] and names[-1] == '_start', names
            module = site['stack'][1]['module'].split('/')[-1]
            seen[module] = seen.get(module, 0) + site['allocations']
    assert seen == {'small.so': 300, 'large.so': 300}, seen


# Its frame pointer leads to two words that are zero, which look like the end of a stack.
ODD_POINTER = program_source('attach_odd_pointer.c')


def test_right_after_a_library_was_opened(can, tmp_path):  # noqa: F811
    """Code that is not read yet is no end of a stack, whatever its frame pointer is: its memory is walked when it is read."""
    need('gcc')
    (tmp_path / 'program.c').write_text(program_source('attach_opened.c'))
    libraries = [tmp_path / f'opened{i}.so' for i in range(12)]
    for i, library in enumerate(libraries):
        done = run(['gcc', '-shared', '-fPIC', '-x', 'c', '-', '-o', library], input=f'int number{i};{ODD_POINTER}'.encode())
        assert done.code == 0, done
    done = run(['gcc', '-O2', '-fomit-frame-pointer', tmp_path / 'program.c', '-o', tmp_path / 'program', '-ldl'])
    assert done.code == 0, done
    trace = tmp_path / 'opened.seep'
    done = run([SEEP, 'attach', '--output', trace, '--', tmp_path / 'program', *libraries], timeout=120)
    assert done.code == 0, done
    process, = report(trace)
    found = [([frame['function'] for frame in site['stack']], site['cut']) for site in process['sites']
             if site['stack'][0]['function'] == 'allocate']
    assert sum(site['allocations'] for site in process['sites'] if site['stack'][0]['function'] == 'allocate') == 12
    for names, cut in found:
        assert names[:3] == ['allocate', 'through', 'main'] and names[-1] == '_start' and cut is None, (names, cut)


def test_a_library_that_is_closed_at_once_keeps_its_name(can, tmp_path):  # noqa: F811
    """It is gone when the tool reads what is mapped, and the next one is at its address: its frame has its name all the same."""
    need('gcc')
    source = tmp_path / 'closed.c'
    source.write_text(program_source('attach_closed.c'))
    libraries = [tmp_path / f'closed{i}.so' for i in range(6)]
    for i, library in enumerate(libraries):
        done = run(['gcc', '-O2', '-fomit-frame-pointer', '-shared', '-fPIC', f'-DLIBRARY={1001 + i}', source, '-o', library])
        assert done.code == 0, done
    done = run(['gcc', '-O2', '-fomit-frame-pointer', source, '-o', tmp_path / 'program', '-ldl'])
    assert done.code == 0, done
    trace = tmp_path / 'closed.seep'
    done = run([SEEP, 'attach', '--output', trace, '--', tmp_path / 'program', *libraries], timeout=120)
    assert done.code == 0, done
    process, = report(trace)
    found = {}
    for site in process['sites']:
        if site['size_max'] in range(1001, 1007):
            names = [frame['function'] for frame in site['stack']]
            assert names[:3] == ['allocate', 'through', 'main'] and names[-1] == '_start' and site['cut'] is None, site
            found[site['stack'][0]['module']] = (site['size_max'], site['allocations'])
    assert found == {library.name: (1001 + i, 1) for i, library in enumerate(libraries)}, found


def test_a_program_that_has_gone_on_as_another(can, tmp_path):  # noqa: F811
    """Its code was where the next program of this pid has none: what /proc tells then is not of it."""
    trace = tmp_path / 'gone.seep'
    done = run([SEEP, 'attach', '--output', trace, '--', BUILD / 'tests/live/live-attach-gone-on', 'begin'], timeout=120)
    assert done.code == 0, done
    found = sorted((site['stack'][0]['function'], site['stack'][1]['function'], site['allocations'], process['process']['went_on'])
                   for process in report(trace) for site in process['sites'] if site['allocated_bytes'] in (111, 222, 333))
    assert found == [('after_exec', 'main', 1, False), ('after_exec', 'main', 1, False),
                     ('before_exec', 'main', 1, False),  # what the child that wakes the tool began with
                     ('before_exec', 'main', 1, True), ('in_child', 'main', 1, True)], found
