# SPDX-License-Identifier: BSD-2-Clause
"""seep-agent of 32-bit ARM, one static program of musl, under qemu-user: it starts a program, lists it and serves it to
this machine, with the figures of its report. Where SEEP_CPUS names armhf (make soak ONLY=cross): its build takes a minute.

qemu-user has no ptrace: what a scan on the target does is tested on 32-bit programs of x86-64."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'live'))
import harness  # noqa: E402
import wire_client  # noqa: E402
from harness import BUILD, ROOT, environment, need, run  # noqa: E402
from small_programs import program_source  # noqa: E402
from test_cross import ALL, CPUS, TESTED  # noqa: E402
from test_wire import figures, figures_of  # noqa: E402

ARMHF = CPUS['armhf']
BYTES_MAX = {'plain': 288 << 10, 'packed': 192 << 10}


def build(form, *options):
    done = run([ROOT / 'tools/agent.sh', *options, *(['--packed'] if form == 'packed' else []), BUILD], timeout=600, env=dict(os.environ))
    if done.code == 2:
        pytest.skip('musl for armhf is not there (tools/install-deps.sh agent-armhf)')
    assert (done.code, done.err) == (0, b''), done  # a size without cryptography says nothing


@pytest.fixture(scope='module', params=BYTES_MAX)
def agent(request):
    need(f'{ARMHF.triplet}-gcc')
    need(ARMHF.qemu)
    build(request.param, '--cpu', 'armhf')
    agent = BUILD / ('seep-agent-armhf' + ('-packed' if request.param == 'packed' else ''))
    assert agent.stat().st_size <= BYTES_MAX[request.param]
    return agent


def served(agent, tmp_path):
    (tmp_path / 'held.c').write_text(program_source('agent_held.c'))
    done = run([f'{ARMHF.triplet}-gcc', '-g', '-O1', '-funwind-tables', '-fno-builtin', 'held.c', '-o', 'held'], cwd=tmp_path)
    assert done.code == 0, done
    # The emulator starts programs of this machine: the next emulator.
    program = subprocess.Popen([ARMHF.qemu, agent, 'run', ARMHF.qemu, '-L', ARMHF.sysroot, tmp_path / 'held', '7'], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert program.stdout.readline() == b'ready\n', program.stderr.read()
    listed = run([ARMHF.qemu, agent, 'list']).out.decode()
    pid = int(re.search(r'^ +(\d+) +13.4 KiB +20  held$', listed, re.M)[1])
    line = subprocess.Popen([ARMHF.qemu, agent, 'serve', '--listen', 'stdio', str(pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    client = wire_client.Client(line.stdout, line.stdin)
    client.pull()
    assert figures_of(client) == figures(pid)[1]
    line.stdin.close()
    assert line.wait(timeout=harness.TIMEOUT) == 0
    line.stdout.close()
    command = f'exec:{ARMHF.qemu} {agent} serve --listen stdio {pid}'
    done = run([harness.SEEP, 'connect', '--sysroot', ARMHF.sysroot, '-e', 'status; functions', command])
    assert done.code == 0 and re.search(r'\blose\b', done.out.decode()), done
    program.stdin.close()
    assert program.wait(timeout=harness.TIMEOUT) == 5
    assert program.stderr.read() == b''
    program.stdout.close(), program.stderr.close()


if ALL and 'armhf' in TESTED:
    def test_agent_of_armhf(agent, tmp_path):
        served(agent, tmp_path)

    def test_a_file_that_is_no_program(agent, tmp_path):
        """Under qemu-user, where the child of vfork has a copy of the memory, the tool knows why, too."""
        (tmp_path / 'file').write_text('nothing')
        (tmp_path / 'file').chmod(0o755)
        done = run([ARMHF.qemu, agent, 'run', tmp_path / 'file'])
        assert done.code == 126 and done.err.count(b'\n') == 1 and str(tmp_path / 'file').encode() in done.err, done

    def test_packed_here(tmp_path):
        """On this machine, with its arguments, environment, and exit status."""
        need('musl-gcc')
        build('packed')
        agent = BUILD / 'seep-agent-packed'
        assert run([agent, '--version']).out.startswith(b'seep-agent ')
        done = run([agent, 'run', 'sh', '-c', 'echo "$FROM $1"; exit 7', 'sh', 'argument'], env=environment(FROM='outside'))
        assert (done.code, done.out, done.err) == (7, b'outside argument\n', b''), done
        damaged = bytearray(agent.read_bytes())
        damaged[len(damaged) // 2] ^= 0xff
        (tmp_path / 'damaged').write_bytes(damaged)
        (tmp_path / 'damaged').chmod(0o755)
        assert run([tmp_path / 'damaged', '--version']).code != 0
