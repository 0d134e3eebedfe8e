# SPDX-License-Identifier: BSD-2-Clause
"""The ways to run a program: plain, under `seep run`, recorded, alone by preload and scanned while it pauses, under `seep attach`.

Each gives what the program did, and the reports about it.
"""
import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import compare

PATIENCE_S = 120
ENVIRONMENT = {'PATH': '/usr/local/bin:/usr/bin:/bin', 'LC_ALL': 'C.UTF-8', 'HOME': '/proc/nonexistent', 'MALLOC_PERTURB_': '0',
               **{name: value for name, value in os.environ.items() if name == 'SEEP_DEBUG_DIR'}}
OUTPUT = re.compile(rb'^line \d+ of \d+$', re.M)


class Trouble(Exception):
    """Something that took too long, or a command of seep that failed."""


def run(command, folder, environment=None, patience=PATIENCE_S):
    """(exit status as a shell has it, standard output, standard error); all that is left of it is killed."""
    process = subprocess.Popen([str(word) for word in command], cwd=folder, env=environment or ENVIRONMENT,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise Trouble(f'took over {patience} s: {" ".join(map(str, command))}\n{out[-500:]!r}\n{err[-500:]!r}')
    return shell_status(process.returncode), out, err


def shell_status(code):
    return code if code >= 0 else 128 - code


def printed(out):
    return [line.decode() for line in OUTPUT.findall(out)]


class Ways:
    def __init__(self, build, folder):
        self.seep, self.libseep, self.folder = Path(build) / 'seep', Path(build) / 'libseep.so', Path(folder)
        self.environment = ENVIRONMENT

    def names_of_libc(self, wanted):
        """Whether the debug information of libc is read. It names no frame that is compared, and takes nine tenths of a report."""
        none = self.folder / 'no debug information'
        none.mkdir(exist_ok=True)
        self.environment = ENVIRONMENT if wanted else {**ENVIRONMENT, 'SEEP_DEBUG_DIR': str(none)}

    def report(self, command):
        status, out, err = run([self.seep, *command], self.folder, self.environment)
        if status != 0:
            raise Trouble(f'{" ".join(map(str, command))}: exit {status}: {err.decode()[-500:]}')
        return json.loads(out)

    def behaved(self, wanted, status, out, err):
        wrong = []
        if wanted['status'] is not None and status != wanted['status']:
            wrong.append(f'exit status {status}, expected {wanted["status"]}; {err[-300:]!r}')
        if printed(out) != wanted['output']:
            wrong.append(f'printed {printed(out)}, expected {wanted["output"]}; {err[-300:]!r}')
        return wrong

    def plain(self, batch, program, lines):
        status, out, err = run([batch, program['number']], self.folder)
        return self.behaved(wanted(program), status, out, err)

    def under_run(self, batch, program, lines):
        wiped = program['number'] % 2 == 1
        trace = self.folder / 'run.seep'
        status, out, err = run([self.seep, 'run', '-q', '-o', trace, *(['--wipe-freed', 'yes'] if wiped else []), '--',
                                batch, program['number']], self.folder, self.environment)
        wrong = self.behaved(wanted(program), status, out, err)
        report = self.report(['report', '--json', '--top', '0', trace])
        return wrong + compare.compare(program['lives'], [report], compare.Look('run', lines=lines, wiped=wiped))

    def recorded(self, batch, program, lines):
        trace = self.folder / 'recorded.seep'
        status, out, err = run([self.seep, 'run', '-q', '--mode', 'record', '-o', trace, '--', batch, program['number']], self.folder,
                               self.environment)
        wrong = self.behaved(wanted(program), status, out, err)
        report = self.report(['report', '--json', '--top', '0', trace])
        return wrong + compare.compare(program['lives'], [report], compare.Look('record', lines=lines))

    def alone(self, batch, program, lines):
        """By preload, and scanned while it pauses, if it does."""
        left = self.folder / 'left'
        shutil.rmtree(left, ignore_errors=True)
        left.mkdir()
        state, wiped = program['paused'], program['number'] % 2 == 0
        environment = {**self.environment, **({'SEEP_WIPE': '1'} if wiped else {}), 'LD_PRELOAD': str(self.libseep), 'SEEP_OUT': str(left / '%p.seep')}
        process = subprocess.Popen([str(batch), str(program['number']), *(['pause'] if state else [])], cwd=self.folder,
                                   env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
        wrong = []
        try:
            said = b''
            if state:
                said = read_ready(process)
                pid = re.search(rb'^ready (\d+)$', said, re.M).group(1).decode()
                report = self.report(['scan', '--json', '--top', '0', pid])
                wrong += [f'scanned: {line}' for line in
                          compare.compare([{**state, 'looked_at': True}], [report], compare.Look('scan', lines=lines, wiped=wiped))]
            out, err = process.communicate(b'\n', timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Trouble('took too long alone')
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        wrong += self.behaved(wanted(program), shell_status(process.returncode), said + out, err)
        reports = [self.report(['report', '--json', '--top', '0', path]) for path in sorted(left.iterdir())]
        lives = [life for life in program['lives'] if life['leaves_file']]
        return wrong + compare.compare(lives, reports, compare.Look('alone', lines=lines, classes=False))

    def attached(self, batch, program, lines):
        trace = self.folder / 'attach.seep'
        status, out, err = run([self.seep, 'attach', '--output', trace, '--', batch, program['number']], self.folder,
                               self.environment)
        wrong = self.behaved(wanted(program), status, out, err)
        report = self.report(['report', '--json', '--top', '0', trace])
        return wrong + compare.compare(program['lives'], [report], compare.Look(
            'attach', lines=lines, classes=False, temporary=False, by_probes=True))

    def attached_together(self, batch, programs, lines):
        """Several under one `seep attach`, one after the other: for each it takes a quarter of the time."""
        trace, script = self.folder / 'attach.seep', self.folder / 'together.sh'
        script.write_text(''.join(f'{batch} {program["number"]}; echo "ended with $?"\n' for program in programs))
        status, out, err = run(['timeout', PATIENCE_S, self.seep, 'attach', '--output', trace, '--', 'sh', script], self.folder,
                               self.environment, PATIENCE_S * 2)
        ends = re.split(rb'^ended with (\d+)\n', out, flags=re.M)
        wrong = [] if len(ends) == 2 * len(programs) + 1 else [f'{len(ends) // 2} of {len(programs)} ended; {err[-300:]!r}']
        for program, out, code in zip(programs, ends[::2], ends[1::2]):
            wrong += self.behaved(wanted(program), int(code), out, err)
        report = self.report(['report', '--json', '--top', '0', trace])
        lives = [life for program in programs for life in program['lives']]
        return wrong + compare.compare(lives, [report], compare.Look(
            'attach', lines=lines, classes=False, temporary=False, by_probes=True))


WAYS = {'plain': Ways.plain, 'run': Ways.under_run, 'record': Ways.recorded, 'alone': Ways.alone, 'attach': Ways.attached}


def wanted(program):
    exit = program['exit']
    return {'output': program['output'], 'status': exit['code'] if 'code' in exit else 128 + exit['signal']}


def read_ready(process):
    said, end = b'', time.monotonic() + PATIENCE_S
    while not re.search(rb'^ready \d+\n', said, re.M):
        ready, _, _ = select.select([process.stdout], [], [], max(0, end - time.monotonic()))
        piece = os.read(process.stdout.fileno(), 4096) if ready else b''
        if not piece:
            raise Trouble(f'did not pause: {said!r} {process.stderr.read()[-300:] if process.poll() is not None else ""!r}')
        said += piece
    return said
