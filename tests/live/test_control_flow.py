# SPDX-License-Identifier: BSD-2-Clause
"""Control flow that few programs have: the program does what it does untraced, every operation is counted, and stacks are
whole where they can be; where they cannot, that is counted. control_flow.c has one part for each test."""
import platform

import pytest
from harness import BUILD, LIBSEEP, environment, report, exit_status, no_losses, plain_name, run, traced, with_witness, check_witness
from small_programs import program_source
from recording import ALLOCATION, chunks

FOLDER = BUILD / 'tests/live'
FLOW = FOLDER / 'live-control-flow'
ORDER = FOLDER / 'live-control-order'
ONLY_X86_64 = pytest.mark.skipif(platform.machine() != 'x86_64', reason='its assembly is for x86-64')

COVERS = [
    ('dlclose during allocation', 'covered', 'test_dlclose_while_another_thread_allocates', 'counts exact, stacks whole'),
    ('allocation inside dlopen', 'covered', 'test_constructors_and_destructors_of_libraries',
     'constructors and destructors of libraries'),
    ('return probes of another tracer', 'declared', 'test_a_return_probe_of_another_tracer',
     'the stack ends there and is counted as cut (return_probe)'),
    ('allocation inside dlsym', 'covered', 'test_look_up_that_fails', 'of the message that there is no such function'),
    ('allocation in IFUNC resolvers', 'covered', 'test_resolver_of_a_function', ''),
    ('allocation in TLS set-up', 'covered', 'test_thread_local_variables_of_a_library', 'by the loader itself'),
    ('allocation in dl_iterate_phdr callbacks', 'covered', 'test_callback_of_the_loader', 'under the lock of the loader'),
    ('thread-exit destructors', 'covered', 'test_ends_of_threads', 'each round of them'),
    ('cancellation', 'covered', 'test_ends_of_threads', 'cleanup handlers that allocate'),
    ('pthread_exit', 'covered', 'test_ends_of_threads', ''),
    ('detached threads', 'covered', 'test_ends_of_threads', ''),
    ('TLS destructors', 'covered', 'test_objects_of_threads', 'thread_local objects of C++'),
    ('stacks of 64 MiB', 'covered', 'test_a_large_stack', 'frames of 1 MiB, and 10,000 frames'),
    ('alloca-heavy frames', 'covered', 'test_a_large_stack', ''),
    ('signals on alternate stacks', 'covered', 'test_a_fault_handler_that_jumps_out',
     'SIGSEGV, also of a stack that overflows; the handler allocates and leaves by siglongjmp'),
    ('signals on alternate stacks', 'declared', 'test_a_timer_that_interrupts_hooks',
     'SIGPROF at any instruction: what a handler does while it interrupts a hook is counted as lost (reentered)'),
    ('hand-switched stacks', 'covered', 'test_hand_switched_stacks', 'unmapped and mapped again at the same address'),
    ('hand-switched stacks', 'covered', 'test_a_stack_that_goes_while_its_callee_runs',
     'unmapped or made unreadable by munmap, mmap, mremap or mprotect while a function that it called runs elsewhere'),
    ('hand-switched stacks', 'covered', 'test_a_stack_whose_first_function_returns_to_exit', 'as Boost.Context makes them'),
    ('hand-switched stacks', 'covered', 'test_a_stack_that_is_not_aligned', 'stacks that are not aligned as the ABI wants'),
    ('code without CFI', 'covered', 'test_code_without_call_frame_information', 'with a frame pointer: whole'),
    ('code without CFI', 'declared', 'test_code_without_call_frame_information',
     'with neither: the stack ends there and is counted as cut (no_cfi)'),
    ('split stacks', 'covered', 'test_split_stack', 'counts'),
    ('split stacks', 'declared', 'test_split_stack',
     'a stack that goes on in a segment at a lower address ends there and is counted as cut (loop)'),
    ('C++ static init and exit order', 'covered', 'test_order_of_beginning_and_end', ''),
    ('exceptions through C', 'covered', 'test_exceptions_through_c', 'out of qsort'),
    ('quick_exit', 'covered', 'test_quick_exit', 'with handlers that allocate'),
]


def both(program, part, tmp_path, options=()):
    """The process of a traced run that does what the untraced one does."""
    plain = run([program, part])
    under = traced([program, part], tmp_path, env=with_witness(tmp_path), options=options)
    assert (under.code, under.out, under.err) == (exit_status(plain.code), plain.out, plain.err), (plain, under)
    (process,) = under.report()
    no_losses(process)
    check_witness([process], tmp_path)
    return process


def figures(process, function):
    """Allocations and live blocks of the sites where this function of ours called the allocator itself."""
    sites = of(process, function)
    return sum(s['allocations'] for s in sites), sum(s['live_blocks'] for s in sites)


def of(process, function):
    return [s for s in process['sites'] if s['stack'] and plain_name(s['stack'][0]['function']) == function]


def paths(process, function):
    return {tuple(plain_name(f['function']) for f in s['stack'] if 'live-control' in (f['module'] or ''))
            for s in of(process, function)}


def whole(process):
    assert process['health']['stacks_cut'] == 0, process['health']


def test_dlclose_while_another_thread_allocates(tmp_path):
    process = both(FLOW, 'dlclose', tmp_path)
    whole(process)
    assert figures(process, 'library_take') == (20000 + 300, 2000 + 300)
    # Library a comes once and goes with the program, library b comes and goes each time.
    assert figures(process, 'in_library_constructor') == (301, 0)
    assert figures(process, 'in_library_destructor') == (301, 301)
    assert ('library_take', 'through_library') in paths(process, 'library_take')


def test_constructors_and_destructors_of_libraries(tmp_path):
    process = both(FLOW, 'constructors', tmp_path)
    whole(process)
    assert figures(process, 'in_library_constructor') == (5, 0)
    assert paths(process, 'in_library_constructor') == {
        ('in_library_constructor', 'begin', 'open_library', 'constructors', 'main', '_start')}
    assert figures(process, 'in_library_destructor') == (5, 5)
    assert paths(process, 'in_library_destructor') == {('in_library_destructor', 'end', 'constructors', 'main', '_start')}


def test_resolver_of_a_function(tmp_path):
    process = both(FLOW, 'resolvers', tmp_path)
    whole(process)
    assert figures(process, 'in_resolver') == (1, 1)
    (path,) = paths(process, 'in_resolver')
    assert path[:2] == ('in_resolver', 'library_resolver') and path[-3:] == ('resolvers', 'main', '_start')


def test_thread_local_variables_of_a_library(tmp_path):
    process = both(FLOW, 'tls', tmp_path)
    whole(process)
    made = [s for s in process['sites'] if any(f['function'] == 'library_touch' for f in s['stack'])]
    assert sum(s['allocations'] for s in made) == 50 and {s['via'] for s in made} == {'malloc'}


def test_look_up_that_fails(tmp_path):
    process = both(FLOW, 'look-up', tmp_path)
    whole(process)
    made = [s for s in process['sites'] if any(f['function'] == 'look_up' for f in s['stack'])]
    assert sum(s['allocations'] for s in made) >= 50
    assert sum(s['live_blocks'] for s in made) == 0, 'the last message was taken, and libc gives it back'


def test_callback_of_the_loader(tmp_path):
    process = both(FLOW, 'iterate', tmp_path)
    whole(process)
    assert figures(process, 'in_callback') == (40, 20)


def test_ends_of_threads(tmp_path):
    process = both(FLOW, 'ends', tmp_path)
    whole(process)
    assert figures(process, 'in_destructor') == (80, 80)  # PTHREAD_DESTRUCTOR_ITERATIONS is 4
    assert figures(process, 'in_cleanup') == (40, 40)
    assert figures(process, 'until_cancelled') == (20, 0)
    assert figures(process, 'leaves') == (20, 0)
    assert figures(process, 'in_detached') == (20, 20)


def test_objects_of_threads(tmp_path):
    process = both(ORDER, 'thread', tmp_path)
    whole(process)
    assert figures(process, '~OfThread') == (10, 10)
    assert figures(process, 'OfThread') == (10, 0)


def test_a_large_stack(tmp_path):
    process = both(FLOW, 'large-stack', tmp_path)
    whole(process)
    assert figures(process, 'large_frames') == (3, 3)
    (site,) = of(process, 'large_frames')
    assert [f['function'] for f in site['stack']].count('large_frames') == 60
    (site,) = of(process, 'many_frames')
    assert site['live_blocks'] == 3 and len(site['stack']) == 10000 + 3


@pytest.mark.parametrize('part, jumps', [('faults', 40), ('overflow', 5)])
def test_a_fault_handler_that_jumps_out(part, jumps, tmp_path):
    process = both(FLOW, part, tmp_path)
    whole(process)
    assert figures(process, 'in_fault_handler') == (jumps, jumps)
    assert figures(process, 'after_fault') == (jumps, jumps)
    assert len(of(process, 'after_fault')) == 1  # the frames that were left by a jump are in no later stack


@ONLY_X86_64
def test_a_fault_handler_of_a_call_to_nowhere(tmp_path):
    """What called the bad address is in the handler's stacks, which are whole."""
    process = both(FLOW, 'nowhere', tmp_path)
    whole(process)
    assert figures(process, 'in_fault_handler') == (40, 40)
    (site,) = of(process, 'in_fault_handler')
    assert [f['function'] for f in site['stack']].count('call_nowhere') == 4


@pytest.mark.parametrize('mode', ['live', 'record'])
def test_a_timer_that_interrupts_hooks(mode, tmp_path):
    """With an allocator that handlers may call. Nothing of the interrupted is lost."""
    options = ['--mode', 'record'] if mode == 'record' else []
    under = traced([FLOW, 'ticks'], tmp_path, options=[*options, '--allocator', FOLDER / 'live-control-allocator.so'])
    assert under.code == 0 and under.err == b'', under
    nr_usual, nr_ticks = map(int, under.out.split())
    (process,) = under.report()
    assert figures(process, 'ticks')[0] == nr_usual + 1
    seen = sum(s['allocations'] for s in process['sites'] if any(f['function'] == 'in_tick' for f in s['stack']))
    lost = process['health']['lost']
    assert set(lost) <= {'reentered'} and lost.get('reentered', 0) == 2 * (nr_ticks - seen)
    assert process['totals']['allocations'] == nr_usual + 1 + seen == process['totals']['frees'] + 1
    if mode == 'record':
        events = [event.kind == ALLOCATION for chunk in chunks(under.trace) for event in chunk.events]
        assert (sum(events), len(events)) == (nr_usual + 1 + seen, 2 * (nr_usual + seen) + 1)


@ONLY_X86_64
def test_hand_switched_stacks(tmp_path):
    process = both(FLOW, 'switched', tmp_path)
    whole(process)
    assert figures(process, 'on_own_stack') == (200, 100)
    assert paths(process, 'on_own_stack') == {('on_own_stack', 'coroutine', 'first_frame')}


@ONLY_X86_64
def test_a_stack_whose_first_function_returns_to_exit(tmp_path):
    """Stacks as Boost.Context makes them, without call-frame information at the return address."""
    process = both(FLOW, 'exits', tmp_path)
    whole(process)
    assert figures(process, 'on_own_stack') == (200, 100)
    assert paths(process, 'on_own_stack') == {('on_own_stack', 'coroutine', 'exits')}


@ONLY_X86_64
def test_a_stack_that_is_not_aligned(tmp_path):
    """Against the ABI, and glibc's malloc puts up with it: so must what stands in front of it."""
    if run([FLOW, 'misaligned']).code != 0:
        pytest.skip('the malloc of this libc does not put up with a stack that is not aligned')
    under = traced([FLOW, 'misaligned'], tmp_path)
    assert (under.code, under.out, under.err) == (0, b'', b''), under
    (process,) = under.report()
    no_losses(process)
    whole(process)
    assert figures(process, 'on_own_stack') == (200, 100)


@ONLY_X86_64
def test_code_without_call_frame_information(tmp_path):
    process = both(FLOW, 'no-cfi', tmp_path)
    assert figures(process, 'behind_frame') == figures(process, 'behind_nothing') == (10, 10)
    assert paths(process, 'behind_frame') == {('behind_frame', 'through_frame', 'no_cfi', 'main', '_start')}
    assert paths(process, 'behind_nothing') == {('behind_nothing', 'without_frame')}
    assert process['health']['cut'] == {'no_cfi': 1}
    assert [s['cut'] for s in of(process, 'behind_nothing')] == ['no_cfi']


def test_a_return_probe_of_another_tracer(tmp_path):
    """The kernel's trampoline is no code of the program: the stack ends there, and says why; without it all is whole."""
    program = BUILD / 'tests/live/live-return-probe'
    if run([program]).code == 77:
        pytest.skip('no return probe can be set here (perf_event_open)')
    under = traced([program], tmp_path)
    assert under.code == 0, under
    (process,) = under.report()
    sites = {s['size_max']: s for s in of(process, 'inner')}
    assert [f['function'] for f in sites[100]['stack']] == ['inner', 'probed'] and sites[100]['cut'] == 'return_probe', sites
    assert sites[200]['stack'][2]['function'] == 'main' and sites[200]['cut'] is None, sites
    assert (sites[100]['allocations'], sites[200]['allocations']) == (10, 10)
    assert process['health']['cut'] == {'return_probe': 1}


@ONLY_X86_64
def test_split_stack(tmp_path):
    plain = run([FOLDER / 'live-control-split'])
    under = traced([FOLDER / 'live-control-split'], tmp_path)
    assert (under.code, under.out, under.err) == (plain.code, plain.out, plain.err) == (0, b'', b''), under
    (process,) = under.report()
    no_losses(process)
    assert figures(process, 'grow') == (60, 60)
    # Segments lie where mmap puts them: those sites whose stack leads to a lower one are cut, and no other.
    assert set(process['health']['cut']) <= {'loop'}
    for site in of(process, 'grow'):
        names = [f['function'] for f in site['stack']]
        assert site['cut'] in (None, 'loop') and (site['cut'] == 'loop') == (names[-1] == '__morestack')


def test_order_of_beginning_and_end(tmp_path):
    process = both(ORDER, 'order', tmp_path)
    whole(process)
    assert figures(process, 'in_constructor') == (3, 3)
    assert sum(s['live_blocks'] for s in of(process, 'in_destructor')) == 3
    assert figures(process, 'in_destructor') == (6, 3)
    assert figures(process, 'at_end') == (1, 1)
    strings = [s for s in process['sites'] if s['via'].startswith('operator new') and s['size_min'] == 101]
    assert sum(s['allocations'] for s in strings) == 3 and sum(s['live_blocks'] for s in strings) == 0


def test_exceptions_through_c(tmp_path):
    process = both(ORDER, 'through-c', tmp_path)
    whole(process)
    assert figures(process, 'through_c') == (50, 50)
    thrown = [s for s in process['sites'] if any(plain_name(f['function']) == 'thrower' for f in s['stack'])]
    assert sum(s['allocations'] for s in thrown) == 150 and sum(s['live_blocks'] for s in thrown) == 0


def test_quick_exit(tmp_path):
    process = both(FLOW, 'quick', tmp_path)
    whole(process)
    assert process['process']['exit'] == {'code': 4}
    assert figures(process, 'quick') == (1, 1)
    assert figures(process, 'at_quick_end') == (1, 0)


def test_quick_exit_alone(tmp_path):
    """The library alone writes its file when the handlers have run."""
    done = run([FLOW, 'quick'], env=environment(LD_PRELOAD=LIBSEEP, SEEP_OUT=tmp_path / 'alone.seep'))
    assert (done.code, done.err) == (4, b''), done
    (process,) = report(tmp_path / 'alone.seep')
    assert process['process']['exit'] == {'code': 4}
    assert figures(process, 'quick') == (1, 1)
    assert figures(process, 'at_quick_end') == (1, 0)


@pytest.mark.parametrize('filtered', ['no', 'before', 'after'])
@pytest.mark.parametrize('way', ['protect', 'unmap', 'call'])
def test_a_stack_that_goes_while_its_callee_runs(tmp_path, way, filtered):
    """A function on another stack, whose callers' stack is unmapped or made unreadable: what is remembered of them is not read
    any more, and stacks end there from then on. Under a filter of system calls, too, where the kernel cannot be asked: what was known
    to be a stack when it came was read on, and the program died."""
    program = BUILD / 'tests/live/live-gone-stack'
    if not program.exists():
        pytest.skip('written for x86-64')
    plain = run([program, way, filtered])
    under = traced([program, way, filtered], tmp_path)
    assert (plain.code, plain.out) == (under.code, under.out) == (0, b'went on\n'), under
    process = under.report()[0]
    assert not any(process['health']['lost'].values()) and process['health']['cut']['bad_read']
    work = [s for s in process['sites'] if s['stack'] and plain_name(s['stack'][0]['function']) == 'work']
    assert sum(s['allocations'] for s in work) == 1204 and len(work) == 3


def test_a_page_of_the_stack_that_is_taken_away(tmp_path):
    """Frames on a page that is protected cannot be read. Stacks that cross it are cut; all others are whole."""
    source, program = tmp_path / 'taken.c', tmp_path / 'taken'
    source.write_text(program_source('control_flow_stack_taken.c'))
    built = run(['gcc', '-g', '-O1', '-w', source, '-o', program])
    assert built.code == 0, built
    done = traced([program], tmp_path)
    assert (done.code, done.out, done.err) == (0, b'fine\n', b''), done
    process, = done.report()
    assert not process['health']['lost']
    outermost = {site['size_max']: plain_name(site['stack'][-1]['function']) for site in process['sites']
                 if site['size_max'] in (50, 77, 1000)}
    assert outermost[50] == outermost[77] == '_start' and outermost[1000] == 'deep', outermost
