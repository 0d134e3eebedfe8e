# SPDX-License-Identifier: BSD-2-Clause
"""seep top on real programs: what a terminal shows (tmux is the terminal), what it is sent, plain text; exec, children, the end.

How the screen looks at each size is in tests/unit/test_screen.c.
"""
import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import termios
import time

import pytest

import harness
import messages
from harness import BUILD, SEEP, Told, environment, need, run, wait_for_turns, wait_until
from small_programs import built_program, program_source

SHOP = BUILD / 'tests/live/live-shop'


class Shop(Told):
    def __init__(self, folder, *options):
        super().__init__(folder, 'shop.seep', options, [SHOP], first=b'ready\n')

    def tell(self, *steps):
        for step in steps:
            assert self.answer(step) == (b'ready\n' if step == 'exec' else b'ok\n')


@pytest.fixture
def shop(tmp_path):
    made = []

    def make(*options):
        made.append(Shop(tmp_path, *options))
        return made[-1]

    yield make
    for each in made:
        each.end()


class Terminal:
    """seep top in a tmux of its own."""

    def __init__(self, folder, *arguments, columns=80, rows=24, **env):
        self.socket = str(folder / 'tmux')
        self.folder = folder
        command = shlex.join(str(word) for word in (SEEP, 'top', *arguments))
        self.tmux('-f', '/dev/null', 'new-session', '-d', '-x', str(columns), '-y', str(rows),
                  f'{command}; echo "left with $?"; exec sleep 1000', env=environment(TERM='screen', SHELL='/bin/sh', **env))

    def tmux(self, *arguments, env=None):
        done = run(['tmux', '-S', self.socket, *arguments], env=env or environment(TERM='screen'), cwd=self.folder)
        assert done.code == 0, done
        return done.out.decode()

    def keys(self, *keys):
        self.tmux('send-keys', *keys)

    def screen(self):
        return self.tmux('capture-pane', '-p')

    def shows(self, *patterns):
        """Waits until the screen has all of these; returns it."""
        end = time.monotonic() + harness.TIMEOUT / 2
        while True:
            text = self.screen()
            missing = [pattern for pattern in patterns if not re.search(pattern, text, re.M)]
            if not missing:
                return text
            assert time.monotonic() < end, f'{missing} not in:\n{text}'
            time.sleep(0.05)

    def pid(self):
        """The process id of seep: the shell of the pane starts it."""
        return harness.children_of(int(self.tmux('display-message', '-p', '#{pane_pid}')))[0]

    def is_cooked(self):
        """The program takes whole lines: a line editor has handed its line over."""
        with open(self.tmux('display-message', '-p', '#{pane_tty}').strip()) as tty:
            return bool(termios.tcgetattr(tty)[3] & termios.ICANON)

    def end(self):
        self.tmux('kill-server')


@pytest.fixture
def terminal(tmp_path):
    need('tmux')
    made = []

    def make(*arguments, **more):
        made.append(Terminal(tmp_path, *arguments, **more))
        return made[-1]

    yield make
    for each in made:
        each.end()


def test_a_screen_follows_the_program(shop, terminal):
    program = shop()
    screen = terminal('-i', '0.1', program.pid)
    first = screen.shows(r'^>   3\.0M .* 12 .* cache_init:38$', r'^ +6\.2K .* 10 .* session_new:31$')
    assert f'live-shop {program.pid}  LIVE' in first and '[1]Sites' in first
    screen.keys('m', 'warm', 'Enter')
    screen.shows(r'since mark "warm"', r'0 in 0 blocks')
    # The screen has its own figures of that moment. The mark of the image comes a little later.
    wait_until(lambda: run([SEEP, 'diff', f'{program.pid}@warm', program.pid]).code == 0, 'the mark of the image')
    program.tell(1000, 'churn 500')
    screen.shows(r'\+625K in 1,000 blocks', r'^ +625K .* \+625K +1,000 .* session_new:31, \w+', r'parse_header:42')
    screen.keys('d')
    screen.shows(r'SINCE▼')
    screen.keys('/', 'cache')
    screen.shows(r'filter: cache', r'cache_init:38', r'\A(?![\s\S]*session_new)')
    screen.keys('Escape', '2')
    screen.shows(r'\[2\]Functions', r'session_new$')
    screen.keys('t')
    screen.shows(r'LIVE +SHARE +FUNCTION', r'- main$', r'session_new$')
    screen.keys('q')
    screen.shows(r'left with 0')
    os.kill(program.pid, 0)
    # The mark is in the image.
    done = run([SEEP, 'diff', f'{program.pid}@warm', program.pid])
    assert done.code == 0 and b'session_new' in done.out, done


def test_the_detail_shows_stack_sizes_ages_and_source(shop, terminal):
    program = shop('--age')
    screen = terminal('-i', '0.1', program.pid, columns=132, rows=43)
    screen.shows(r'^── cache_init \(shop\.c:38\): calloc ─', r'main \(shop\.c:\d+\) +│', r'sizes 256K █', r'age +<1m 12',
                 r'38> +cache\[i\] = calloc\(1, 256 << 10\);', r'held by: S ')


def test_a_scan_on_demand(shop, terminal):
    program = shop()
    program.tell('lose', 'lose')
    screen = terminal('-i', '0.1', program.pid, columns=132, rows=43)
    screen.shows(r'cache_init')
    screen.keys('S')
    screen.shows(r'scanned \d+s ago', r'held by: global void \*cache\[', r'reachable 12')
    screen.keys('7')
    # What the words of the stack still lead to is possibly there: at least one is lost.
    screen.shows(r'LOST INDIRECT POSSIBLE', r'^> +(48|96) .* lose \(shop\.c')


def test_a_scan_leaves_out_what_reports_suppress(tmp_path, terminal):
    program = Told(tmp_path, 'x.seep', [], [built_program('lost_and_known.c', tmp_path, '-g')])
    screen = terminal('-i', '0.1', program.pid, columns=132, rows=43)
    screen.shows('lose_known')
    screen.keys('S')
    screen.shows(r'scanned: 80 ')
    screen.keys('7')
    screen.shows(r'^> +80 .* lose \(', r'\A(?![\s\S]*lose_known)')
    program.end()


def test_the_end_and_frozen(shop, terminal):
    program = shop()
    screen = terminal('-i', '0.1', program.pid)
    screen.shows(r'^> +3\.0M', 'LIVE')
    screen.keys('Space')
    screen.shows('FROZEN')
    program.tell(5000)
    wait_for_turns(screen.pid(), 3)
    assert '5,000' not in screen.screen()
    screen.keys('Space')
    screen.shows(r'5,000 ')
    program.tell(90)
    os.kill(program.pid, signal.SIGKILL)
    # What it left, to the last block.
    screen.shows(r'ENDED', r'5,090 ')
    screen.keys('8')
    screen.shows(r'the program has ended')


def test_children_and_exec(shop, terminal):
    program = shop()
    screen = terminal('-i', '0.1', program.pid)
    screen.shows(r'cache_init')
    program.tell('child')
    screen.shows(r'\+1 processes')
    screen.keys('6')
    screen.shows(r'PROCESS', rf'^.*{program.pid} .*live-shop')
    assert len(re.findall(r'live-shop$', screen.screen(), re.M)) == 2
    program.tell('exec')
    screen.keys('8')
    screen.shows(rf'process {program.pid} \(live-shop\) became another program')


def test_it_starts_a_program(tmp_path, terminal):
    screen = terminal('-i', '0.1', '--', SHOP, 'free', '5')
    text = screen.shows(r'session_new', r'LIVE')
    pid = int(re.search(r'live-shop (\d+)', text).group(1))
    screen.keys('q')
    screen.shows(rf'process {pid} goes on', 'left with 0')
    os.kill(pid, signal.SIGKILL)
    trace = tmp_path / f'seep.live-shop.{pid}.seep'
    wait_until(trace.exists, 'the trace')


def test_a_program_that_goes_on_by_exec_at_once(tmp_path):
    """Between exec and its new image it is not traced."""
    chain = tmp_path / 'chain.sh'
    chain.write_text('#!/bin/sh\n[ "$1" = 0 ] && exec sleep 0.5\nexec "$0" $(( $1 - 1 ))\n')
    chain.chmod(0o755)
    for _ in range(3):
        done = run([SEEP, 'top', '--once', '-i', '0.05', '--', chain, '150'], cwd=tmp_path)
        assert done.code == 0 and 'live' in done.out.decode(), done


def test_a_program_that_ends_before_it_is_looked_at(tmp_path):
    """Whether it is still there at the first look is chance; that it was there is not."""
    for _ in range(4):
        done = run([SEEP, 'top', '--once', '--', 'sh', '-c', 'echo said'], cwd=tmp_path)
        assert done.code == 0 or f'{messages.ENDED_EARLY}, with status 0: said'.encode() in done.err, done
    with subprocess.Popen([SEEP, 'serve', '--', 'true'], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as serving:
        out = serving.stdout.readline()
        serving.send_signal(signal.SIGINT)
        err = serving.stderr.read()
        assert out.startswith(b'unix:') or messages.ENDED_EARLY.encode() in err, (out, err)


@pytest.mark.parametrize('words', [['top', '--once'], ['serve']])
def test_a_program_that_never_begins(tmp_path, words):
    """The process that is to start the program still runs, so no status is known.
    The tool's clock runs ahead, so the 20 seconds are short."""
    ahead = built_program('top_never_begins.c', tmp_path, '-shared', '-fPIC')
    done = run([SEEP, *words, '--', 'true'], cwd=tmp_path, env=environment(LD_PRELOAD=ahead))
    assert done.code == 1 and re.fullmatch(rb'seep: no program has begun within 20 s \(process \d+, which starts it, still runs\)\n', done.err), done


def test_a_program_that_cannot_be_traced(tmp_path):
    """The program runs, so the line does not say that it ended, but why it cannot be seen."""
    (tmp_path / 'asleep.c').write_text(program_source('static_asleep.c'))
    assert run(['gcc', '-static', 'asleep.c', '-o', 'asleep'], cwd=tmp_path).code == 0
    for words in (['serve'], ['top', '--once']):
        with open(tmp_path / 'said', 'wb') as said:  # no pipe, which the program would keep open
            done = subprocess.run([SEEP, *words, '--', './asleep'], cwd=tmp_path, stdout=said, stderr=said, timeout=harness.TIMEOUT)
        text = (tmp_path / 'said').read_text()
        found = re.fullmatch(r'seep: the program runs as process (\d+), but is not traced: (.*)\n', text)
        assert done.returncode == 1 and found and messages.STATIC_BINARY % './asleep' in found[2], text
        os.kill(int(found[1]), signal.SIGKILL)


def test_what_the_program_writes_is_in_the_log(tmp_path, terminal):
    screen = terminal('-i', '0.1', '--', '/bin/sh', '-c', r"printf 'hello \033[31m\n'; exec sleep 1000")
    text = screen.shows(r'LIVE')
    screen.keys('8')
    screen.shows(r'hello \\x1b\[31m')
    os.kill(int(re.search(r'(\d+)  LIVE', text).group(1)), signal.SIGKILL)


def pty_of(arguments, columns, rows, env, ignored=()):
    pid, fd = pty.fork()
    if pid == 0:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
        os.execve(SEEP, [str(word) for word in arguments], env)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
    return pid, fd


def read_for(fd, seconds, until=None):
    got, end = b'', time.monotonic() + seconds
    while time.monotonic() < end and not (until and re.search(until, got)):
        if select.select([fd], [], [], 0.05)[0]:
            try:
                more = os.read(fd, 65536)
            except OSError:
                break
            if not more:
                break
            got += more
    return got


@pytest.mark.parametrize('size', [(1, 1), (80, 24), (300, 3)])
def test_names_never_reach_the_terminal_raw(shop, size):
    program = shop()
    pid, fd = pty_of(['seep', 'top', '-i', '0.1', '--by', 'threads', program.pid], *size, environment(TERM='xterm'))
    got = read_for(fd, 20, until=rb'tid \d+' if size[0] > 60 and size[1] > 3 else None if size[1] > 3 else rb'\x1b\[')
    os.write(fd, b'q')
    got += read_for(fd, 20)
    assert os.waitpid(pid, 0)[1] == 0
    os.close(fd)
    assert b'\x1b[2Jred' not in got and b'\x1b[31m\x1b[2J' not in got
    if size == (80, 24):
        assert rb'\x1b[31m\x1b[2Jred' in got


def test_it_ends_with_its_terminal(shop):
    """Also where nohup had it ignore SIGHUP: a terminal that is gone can be read for ever, and each read gives nothing."""
    program = shop()
    pid, fd = pty_of(['seep', 'top', '-i', '60', program.pid], 80, 24, environment(TERM='xterm'), ignored=[signal.SIGHUP])
    assert b'cache_init' in read_for(fd, 30, until=rb'cache_init.*qQuit')
    os.close(fd)
    try:
        wait_until(lambda: harness.state_of(pid) == 'Z', 'the end of seep top')
    finally:
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    assert status == 0


def test_a_refresh_is_small(shop):
    """At 80x24 at most 4 KiB a refresh, the first one of a whole screen included."""
    program = shop()
    pid, fd = pty_of(['seep', 'top', '-i', '0.1', program.pid], 80, 24, environment(TERM='xterm'))
    first = read_for(fd, 30, until=rb'cache_init.*qQuit')
    assert b'cache_init' in first and len(first) <= 4096, len(first)
    for _ in range(10):
        program.tell(1000)
        assert len(read_for(fd, 0.2)) <= 2 * 4096
    os.write(fd, b'q')
    read_for(fd, 10)
    os.waitpid(pid, 0)
    os.close(fd)


def test_once_as_text(shop):
    program = shop()
    done = run([SEEP, 'top', '--once', '-i', '0.1', program.pid], env=environment(COLUMNS='100'))
    assert done.code == 0 and not done.err, done
    text = done.out.decode()
    assert re.search(r'^ +3\.0M +0 +12 +0 +0% .* cache_init \(shop\.c:38\)$', text, re.M), text
    assert '\x1b' not in text and 'qQuit' not in text
    done = run([SEEP, 'top', '--once', '-i', '0.1', '--by', 'threads', '--ascii', program.pid])
    assert rb'\x1b[31m\x1b[2Jred (tid' in done.out and all(byte < 0x80 for byte in done.out), done
    done = run([SEEP, 'top', '--once', '-i', '0.1', program.pid], env=environment(LC_ALL='C'))
    assert done.code == 0 and all(byte < 0x80 for byte in done.out), done


def test_where_there_is_no_terminal_screens_follow_one_another(shop):
    program = shop()
    top = subprocess.Popen([SEEP, 'top', '-i', '0.1', str(program.pid)], stdout=subprocess.PIPE, env=environment())
    text = b''
    while text.count(b'cache_init') < 3:
        text += top.stdout.readline()
    program.end()
    rest, _ = top.communicate(timeout=60)
    assert top.returncode == 0 and b'ENDED' in rest


def test_a_saved_trace(shop, tmp_path):
    program = shop()
    program.tell('churn 100', 7)
    program.end()
    done = run([SEEP, 'top', tmp_path / 'shop.seep'])
    text = done.out.decode()
    assert done.code == 0 and ' FILE ' in text, done
    assert re.search(r'^ +3\.0M +12 +12 +0% cache_init \(shop\.c:38\)$', text, re.M), text
    assert re.search(r'^ +0 +0 +100 +100% parse_header', text, re.M), text


def test_figures_are_those_of_the_report(shop):
    program = shop()
    program.tell(12345)
    process, = harness.report(program.pid)
    done = run([SEEP, 'top', '--once', '-i', '0.1', '--by', 'functions', program.pid])
    text = done.out.decode()
    assert f"blocks {process['totals']['live_blocks']:,} " in text
    assert re.search(r'^ .* 12,355 .* session_new$', text, re.M), text


def test_what_cannot_be_shown_is_one_line(tmp_path):
    for arguments, code, message in ((['999999999'], 1, 'no process'), (['nothing.seep'], 1, 'nothing.seep'),
                                     (['1', '2'], 2, 'one PID or FILE'), (['--', '/nonexistent/program'], 1, 'nonexistent')):
        done = run([SEEP, 'top', *arguments], cwd=tmp_path)
        assert done.code == code and message in done.err.decode(), done
        assert done.err.count(b'\n') == 1 and not done.out, done
    pid, fd = pty_of(['seep', 'top', os.getpid()], 80, 24, environment(TERM='no-such-terminal'))
    assert b'not traced' in read_for(fd, 20, until=rb'\n')
    os.waitpid(pid, 0)
    os.close(fd)


def test_a_dumb_terminal_gets_plain_text(shop):
    """No full screen, said in one line; screens one below the other, without a byte that would steer the terminal."""
    program = shop()
    controller, side = pty.openpty()
    process = subprocess.Popen([SEEP, 'top', '-i', '0.1', str(program.pid)], stdin=side, stdout=side, stderr=side,
                               env=environment(TERM='dumb'))
    os.close(side)
    got = b''
    while got.count(b'live-shop') < 3:
        ready, _, _ = select.select([controller], [], [], harness.TIMEOUT)
        assert ready, got
        got += os.read(controller, 65536)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=harness.TIMEOUT)
    os.close(controller)
    assert b'no full screen' in got and b'cache_init' in got and b'\033' not in got
