# SPDX-License-Identifier: BSD-2-Clause
"""libseep.so of other CPUs, run under qemu-user: every stack is what libgcc's unwinder sees, every program of
tests/programs has the figures of its EXPECT block, and the seep of this machine reads the images.

What qemu-user is not: it ignores madvise (libseep finds out and uses an atfork handler), has no vdso, starts
other programs only through binfmt_misc, and its speed says nothing.
"""
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'oracle'))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
from harness import (  # noqa: E402
    BUILD,
    ROOT,
    check_expectation,
    ended,
    environment,
    exit_status,
    expectation,
    no_losses,
    plain_name,
    report,
    run,
)
from test_oracle import check  # noqa: E402
from test_programs import check_children  # noqa: E402
from small_programs import program_source

TRIPLET = 'aarch64-linux-gnu'
QEMU = 'qemu-aarch64'
SYSROOT = f'/usr/{TRIPLET}'
HERE = Path(__file__).resolve().parent
SOURCES = ROOT / 'tests/programs'
FLAGS = ('-g', '-D_GNU_SOURCE', '-fno-optimize-sibling-calls', '-fno-unroll-loops', '-pthread', '-w')
GCC_C = (f'{TRIPLET}-gcc', '-std=gnu11', *FLAGS)
GCC_CPP = (f'{TRIPLET}-g++', '-std=gnu++17', '-fsized-deallocation', *FLAGS)
CLANG = (f'--target={TRIPLET}', *FLAGS)
CLANG_C = ('clang', '-std=gnu11', *CLANG)
CLANG_CPP = ('clang++', '-std=gnu++17', '-fsized-deallocation', *CLANG)
VARIANTS = {
    'gcc-O2': (GCC_C, GCC_CPP, ['-O2']),
    'gcc-O0': (GCC_C, GCC_CPP, ['-O0']),
    'gcc-O2-nofp': (GCC_C, GCC_CPP, ['-O2', '-fomit-frame-pointer']),
    'gcc-O2-signed': (GCC_C, GCC_CPP, ['-O2', '-mbranch-protection=standard']),
    'clang-O2': (CLANG_C, CLANG_CPP, ['-O2']),
}
ORACLE = 'tests/oracle/libseep-oracle.so'
# Long under qemu; more of the same stacks in every variant.
HEAVY = {'many_threads', 'containers', 'threads', 'contract', 'storm', 'slots', 'ending'}
# Not as long: with the two compilers, and not once more with each way to keep a frame.
LONG = {'exceptions', 'forks', 'operators'}


def need_tools(*names):
    for name in (f'{TRIPLET}-gcc', f'{TRIPLET}-g++', QEMU, *names):
        if not shutil.which(name):
            pytest.skip(f'{name} is not installed (tools/install-deps.sh traced)')
    if not Path(SYSROOT).is_dir():
        pytest.skip(f'{SYSROOT} is not there (libc6-dev-arm64-cross)')


def built(name, *options, targets=()):
    """A cross build directory beside the others, made once by whichever worker comes first; `targets`: no more than them."""
    need_tools('meson', 'ninja')
    directory = BUILD / name
    with open(BUILD / f'{name}.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / 'build.ninja').exists():
            done = run(['meson', 'setup', directory, '--cross-file', ROOT / 'tools/cross/aarch64.ini', '-Dtool=false',
                        '-Dwerror=true', *options], cwd=ROOT, timeout=600, env=dict(os.environ))
            assert done.code == 0, done
        done = run(['ninja', '-C', directory, *targets], timeout=900, env=dict(os.environ))
        assert done.code == 0, done
    return directory


@pytest.fixture(scope='session')
def cross():
    return built('cross-aarch64')


@pytest.fixture(scope='session')
def cross_signed():
    return built('cross-aarch64-signed', '-Dc_args=-mbranch-protection=standard', targets=[ORACLE])


def compile_program(source, folder, variant, *more, name=None):
    c, cpp, flags = VARIANTS[variant]
    compiler = cpp if Path(source).suffix == '.cpp' else c
    need_tools(compiler[0])
    program = Path(folder) / (name or Path(source).stem)
    done = run([*compiler, *flags, source, *more, '-o', program])
    assert done.code == 0, done
    return program


def compile_libraries(folder, needed):
    for name in needed:
        library = Path(folder) / f'lib{name}.so'
        shared = [*GCC_C, '-O2', '-fPIC', '-shared', f'-Wl,-soname,{library.name}', '-o', library]
        if name.startswith('plugin'):
            size = {'plugin_a': 70, 'plugin_b': 80}[name]
            shared += [f'-DPLUGIN={name}', f'-DPLUGIN_SIZE={size}', SOURCES / 'plugin_lib.c']
        else:
            shared += [SOURCES / f'{name}_lib.c']
        done = run(shared)
        assert done.code == 0, done


def emulated(library, args, tmp_path):
    """Runs a program under qemu with `library` preloaded; dumps go to out.PID.seep."""
    preload = ['-E', f'LD_PRELOAD={library}', '-E', f'SEEP_OUT={tmp_path}/out.%p.seep', '-E',
               f'SEEP_ORACLE_OUT={tmp_path}/oracle'] if library else []
    return run([QEMU, '-L', SYSROOT, *preload, *args], cwd=tmp_path, timeout=300, env=environment())


def oracle_of(build):
    return build / ORACLE


def images(tmp_path):
    """Reports of the process itself and of its fork children, in order of their start."""
    processes = [one for path in tmp_path.glob('out.*.seep') for one in report(path)]
    return sorted(processes, key=lambda one: one['process']['pid'])


def cases():
    for source in sorted(p for p in SOURCES.glob('*.c*') if '// EXPECT:' in p.read_text()):
        expected, _ = expectation(source)
        for variant in VARIANTS:
            if variant != 'gcc-O2' and (source.stem in HEAVY or expected.get('needs')):
                continue
            if source.stem in LONG and variant not in ('gcc-O2', 'clang-O2'):
                continue
            for one in expected.get('runs', [{}]):
                name = ' '.join([variant, source.stem, *one.get('args', [])])
                yield pytest.param(source, variant, {**expected, **one}, id=name)


def can_start_programs():
    return any(Path('/proc/sys/fs/binfmt_misc').glob('*aarch64*'))


@pytest.mark.parametrize('source, variant, expected', cases())
def test_program(source, variant, expected, cross, tmp_path):
    if source.stem == 'execs' and not can_start_programs():
        pytest.skip('execs starts other programs, and binfmt_misc does not know qemu-aarch64 here')
    needed = expected.get('needs', [])
    compile_libraries(tmp_path, needed)
    linked = [f'-L{tmp_path}', '-Wl,-rpath,$ORIGIN', '-learly'] if 'early' in needed else []
    program = compile_program(source, tmp_path, variant, *linked)
    args = [program, *expected.get('args', [])]
    plain = emulated(None, args, tmp_path)
    under = emulated(oracle_of(cross), args, tmp_path)
    assert (under.code, under.out, under.err) == (plain.code, plain.out, plain.err)
    if source.stem == 'contract' and plain.code == 99:
        return  # untraced too: a malloc of glibc 2.41 that finds out what qemu lacks leaves that in errno
    end = expected.get('exit', {'code': 0})
    # What __builtin_trap() raises: SIGILL on x86-64, SIGTRAP here.
    trap = end == {'signal': signal.SIGILL} and exit_status(plain.code) == 128 + signal.SIGTRAP
    assert trap or exit_status(plain.code) == ended(end), plain
    check(tmp_path, at_least=1)

    processes = images(tmp_path)
    if not processes:
        # Alone, the library leaves a trace when the process leaves through libc, not when it is killed.
        assert 'signal' in end or expected.get('args') == ['syscall'], 'no trace'
        return
    main, children = processes[0], processes[1:]
    _, marks = expectation(source)
    own = [program.name, *('lib' + name for name in needed)]
    assert main['process']['exe'] == str(program)
    assert main['process']['args'][1:] == expected.get('args', [])
    check_expectation(main, expected, own, marks)
    check_children(children, expected, own, marks)
    for process in processes:
        no_losses(process)
        assert process['health']['stacks_cut'] == 0, process['health']


@pytest.mark.parametrize('variant', VARIANTS)
def test_signals(variant, cross, tmp_path):
    """Allocations in handlers that interrupted leaves, prologues and epilogues: those need x30 itself."""
    program = compile_program(HERE / 'signals.c', tmp_path, variant)
    done = emulated(oracle_of(cross), [program], tmp_path)
    assert (done.code, done.out) == (0, b'160 traps\n'), done
    check(tmp_path, at_least=460)


@pytest.mark.parametrize('name', ['signals', 'recursion', 'exceptions', 'coroutines', 'jumps'])
def test_signed_library(name, cross_signed, tmp_path):
    """The library and the program both sign their return addresses; so do their slots in the memo."""
    source = HERE / 'signals.c' if name == 'signals' else next(SOURCES.glob(f'{name}.c*'))
    program = compile_program(source, tmp_path, 'gcc-O2-signed')
    done = emulated(oracle_of(cross_signed), [program], tmp_path)
    assert done.code == 0, done
    check(tmp_path, at_least=10)


def test_addresses_are_signed(tmp_path):
    """What the tests above rest on: qemu's CPU really signs."""
    source = tmp_path / 'shows.c'
    source.write_text(program_source("cross_addresses_are_signed.c"))
    program = compile_program(source, tmp_path, 'gcc-O2-signed')
    codes = {emulated(None, [program], tmp_path).out.strip() for _ in range(4)}
    assert codes != {b'0'}, 'return addresses are plain'


@pytest.mark.parametrize('variant', ['gcc-O2', 'clang-O2'])
def test_code_without_cfi(variant, cross, tmp_path):
    program = compile_program(HERE / 'records.c', tmp_path, variant)
    done = emulated(oracle_of(cross), [program], tmp_path)
    assert done.code == 0, done
    found = check(tmp_path, at_least=10, partial=True)
    assert found['partial'] == 10
    (process,) = images(tmp_path)
    expected, marks = expectation(HERE / 'records.c')
    check_expectation(process, expected, [program.name], marks)
    assert process['health']['stacks_cut'] == 0


@pytest.mark.parametrize('name', ['plain', 'forks', 'temporary'])
def test_library_alone(name, cross, tmp_path):
    """libseep.so itself, not the oracle's build of it."""
    source = SOURCES / f'{name}.c'
    program = compile_program(source, tmp_path, 'gcc-O2')
    done = emulated(cross / 'libseep.so', [program], tmp_path)
    assert done.code == 0, done
    expected, marks = expectation(source)
    main, *children = images(tmp_path)
    check_expectation(main, expected, [program.name], marks)
    check_children(children, expected, [program.name], marks)
    no_losses(main)
    frames = {plain_name(f['function']) for site in main['sites'] for f in site['stack']}
    assert {'main', '_start'} <= frames


def test_rules(tmp_path):
    need_tools()
    common = ROOT / 'src/common'
    program = tmp_path / 'rules'
    done = run([f'{TRIPLET}-gcc', '-std=gnu11', '-O2', '-Wall', '-I', common, HERE / 'rules.c',
                *sorted((common / 'unwind').glob('*.c')), '-o', program])
    assert done.code == 0, done
    done = emulated(None, [program], tmp_path)
    assert (done.code, done.out) == (0, b''), done


def test_library_needs_libc_alone(cross):
    done = subprocess.run([f'{TRIPLET}-readelf', '-dW', cross / 'libseep.so'], stdout=subprocess.PIPE, check=True)
    needed = set(re.findall(rb'\(NEEDED\).*\[(.*)\]', done.stdout))
    assert needed <= {b'libc.so.6', b'ld-linux-aarch64.so.1'}, needed
