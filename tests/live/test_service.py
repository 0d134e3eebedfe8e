# SPDX-License-Identifier: BSD-2-Clause
"""seep service under a real systemd: process 1 of a container over this machine's files, which it cannot change."""
import json
import os
import re
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import messages
from harness import BUILD, SEEP, children_of, environment, need, report, run

HERE = Path(__file__).parent
WHERE = Path('/etc/systemd/system')
TRACES = Path('/var/lib/seep')
HOME = '/root'


class Machine:
    """The container; its files are at `root`, as we see them."""

    def __init__(self, pid):
        self.pid = pid
        self.root = Path(f'/proc/{pid}/root')

    def __call__(self, *command, **variables):
        return run(['nsenter', '-t', self.pid, '-m', '-p', '-u', '-i', '-C', '-n', *command],
                   env=environment(HOME=HOME, **variables))

    def unit(self, name, text):
        (self.root / 'etc/systemd/system' / name).write_text(text)
        assert self('systemctl', 'daemon-reload').code == 0

    def main_pid(self, unit):
        return int(self('systemctl', 'show', '--value', '-p', 'MainPID', unit).out)

    def catches(self, pid, number):
        caught = re.search(r'^SigCgt:\s*(\w+)', (self.root / f'proc/{pid}/status').read_text(), re.M)[1]
        return int(caught, 16) >> (number - 1) & 1

    def traces(self, unit, pattern='**/*.seep'):
        return sorted((self.root / f'var/lib/seep/{unit}').glob(pattern))

    def wait(self, what):
        """What `what` returns, when it is something."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            found = what()
            if found:
                return found
            time.sleep(0.05)
        pytest.fail('it did not come: ' + str(self('journalctl', '--no-pager', '-n', 40)))


def booted(process):
    """The process 1 of the container, when it answers; None: not yet."""
    for pid in [pid for child in children_of(process.pid) for pid in children_of(child)]:
        if Path(f'/proc/{pid}/comm').read_text().strip() == 'systemd':
            done = Machine(pid)('systemctl', 'is-active', 'basic.target')
            if done.out.strip() == b'active':
                return pid
    return None


@pytest.fixture(scope='module')
def machine(tmp_path_factory):
    need('systemd-nspawn', 'systemctl', 'setpriv', 'unshare', 'nsenter')
    if os.getuid():
        pytest.skip('only root starts a container')
    folder = tmp_path_factory.mktemp('systemd')
    server = folder / 'server'
    subprocess.run(['gcc', '-g', '-O1', '-o', server, HERE / 'service_server.c'], check=True)
    log = (folder / 'log').open('wb')
    # Nothing of the container outlives this process.
    process = subprocess.Popen(['setpriv', '--pdeathsig', 'KILL', 'unshare', '--mount', '--pid', '--fork', '--kill-child',
                                '--mount-proc', HERE / 'boot_systemd.sh', folder, BUILD], stdin=subprocess.DEVNULL,
                               stdout=log, stderr=subprocess.STDOUT, env=environment(), start_new_session=True)
    try:
        pid, end = None, time.monotonic() + 60
        while not pid and process.poll() is None and time.monotonic() < end:
            pid = booted(process)
            time.sleep(0.1)
        if not pid:
            said = (folder / 'log').read_text(errors='replace')
            pytest.skip('no systemd in a container here: ' + (said.strip().splitlines() or ['it did not start'])[-1])
        machine = Machine(pid)
        (machine.root / 'opt').mkdir(exist_ok=True)
        target = machine.root / 'opt/grower'
        target.write_bytes(server.read_bytes())
        target.chmod(0o755)
        yield machine
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        log.close()


@pytest.fixture
def grower(machine):
    """A service that runs, and that has a preloaded library and a variable already."""
    machine.unit('grower.service', '[Service]\nExecStart=/opt/grower\nEnvironment=LD_PRELOAD=libm.so.6 "A=b c"\n')
    assert machine('systemctl', 'start', 'grower').code == 0
    yield 'grower.service'
    machine('systemctl', 'stop', 'grower')
    machine('rm', '-rf', TRACES / 'grower.service', WHERE / 'grower.service', WHERE / 'grower.service.d')


def state(machine, unit):
    """All that disable has to leave as it was."""
    files = machine('find', WHERE, '/var/lib/seep', '-newer', '/opt/grower').out
    shown = machine('systemctl', 'show', '-p', 'Environment,ExecStart,ExecStartPost,ReadWritePaths,DropInPaths', unit).out
    return files, re.sub(rb'(start_time|pid|stop_time|code|status)=[^;]*', b'', shown)


def service(machine, *words):
    return machine(SEEP, 'service', *words)


def test_enable_and_disable_twice(machine, grower):
    assert machine('rm', '-rf', TRACES).code == 0  # of other tests
    before = state(machine, grower)
    for _ in range(2):
        first = machine.main_pid(grower)
        done = service(machine, 'enable', '--restart', '--every', '100ms', 'grower')
        assert done.code == 0 and b'LD_PRELOAD=libm.so.6, which stays' in done.err, done
        assert machine.main_pid(grower) != first
        assert not machine('systemd-analyze', 'verify', grower).err
        environ = (machine.root / f'proc/{machine.main_pid(grower)}/environ').read_bytes().split(b'\0')
        assert f'LD_PRELOAD={BUILD}/libseep.so:libm.so.6'.encode() in environ and b'A=b c' in environ
        machine.wait(lambda: len(machine.traces(grower, '*.snap.seep')) > 1)
        done = service(machine, 'status', 'grower')
        assert done.code == 0 and re.search(rb'grower: traced since \d.*, holds [\d.]+ ', done.out), done
        assert done.out.count(b'traced since') == 1  # our own watcher is not
        trace = '/' + str(machine.traces(grower, '*.snap.seep')[-1].relative_to(machine.root))
        assert b'grow_by (service_server.c:' in machine(SEEP, 'report', trace).out
        assert machine('systemctl', 'stop', 'grower').code == 0
        [left] = machine.traces(grower, 'exit/grower.*.seep')
        [process] = report(left)
        assert process['process']['exit'] == {'code': 0}
        done = service(machine, 'disable', 'grower')
        assert done.code == 0 and b'kept    /var/lib/seep/grower.service' in done.out, done
        assert machine('rm', '-rf', TRACES).code == 0
        assert machine('systemctl', 'start', 'grower').code == 0
        assert b'libseep' not in (machine.root / f'proc/{machine.main_pid(grower)}/environ').read_bytes()
    assert state(machine, grower) == before


def test_what_is_killed_leaves_its_last_state(machine, grower):
    assert service(machine, 'enable', '--restart', 'grower').code == 0
    pid = machine.main_pid(grower)
    # The watcher holds the image: only then does what is killed leave anything.
    watcher = machine.wait(lambda: machine('pgrep', '-f', 'service watch').out.split())[0].decode()
    machine.wait(lambda: b'seep-image' in machine('ls', '-l', f'/proc/{watcher}/fd').out)
    machine.wait(lambda: json.loads(machine(SEEP, 'report', '--json', pid).out)['totals']['live_blocks'] > 10)
    assert machine('kill', '-9', pid).code == 0
    [left] = machine.wait(lambda: machine.traces(grower, '*.end.seep'))
    [process] = report(left)
    assert process['totals']['live_blocks'] > 10
    machine.wait(lambda: machine('systemctl', 'is-active', 'grower').out.strip() == b'failed')  # as without seep
    machine.wait(lambda: not machine('pgrep', '-f', 'service watch').out)


@contextmanager
def watched(machine, name, text):
    """A service that is started after seep was enabled for it. Its unit."""
    unit = f'{name}.service'
    machine.unit(unit, '[Service]\n' + text)
    try:
        assert service(machine, 'enable', '--every', '100ms', name).code == 0
        assert machine('systemctl', 'start', name).code == 0
        yield unit
    finally:
        machine('systemctl', 'stop', name)
        machine('rm', '-rf', TRACES / unit, WHERE / unit, WHERE / f'{unit}.d')


@contextmanager
def watched_shell(machine, name, goes_on):
    """A service that begins in a shell. The watcher has looked at the shell before the shell goes on. Its unit, its pid."""
    assert machine('mkfifo', '/opt/go').code == 0
    try:
        with watched(machine, name, f"ExecStart=/bin/bash -c 'read line < /opt/go; {goes_on}'\n") as unit:
            pid = machine.main_pid(unit)
            machine.wait(lambda: machine.traces(unit, f'bash.{pid}.*.snap.seep'))
            assert machine('sh', '-c', 'echo > /opt/go').code == 0
            yield unit, pid
    finally:
        machine('rm', '/opt/go')


def test_a_service_that_begins_in_a_shell(machine):
    with watched_shell(machine, 'wrapped', 'exec /opt/grower') as (unit, pid):
        trace = machine.wait(lambda: machine.traces(unit, f'grower.{pid}.*.snap.seep'))[-1]
        assert b'grow_by (service_server.c:' in machine(SEEP, 'report', '/' + str(trace.relative_to(machine.root))).out
        assert machine('kill', '-9', pid).code == 0
        machine.wait(lambda: machine.traces(unit, f'grower.{pid}.*.end.seep'))
        assert not machine.traces(unit, 'bash.*.end.seep')


def test_a_shell_that_becomes_a_program_that_is_not_traced(machine):
    """The program is not traced, so it has no snapshots. The state of the shell is not kept as the last state."""
    with watched_shell(machine, 'bare', '/opt/grower & exec -c /opt/grower') as (unit, pid):
        machine.wait(lambda: (machine.root / f'proc/{pid}/comm').read_text() == 'grower\n')
        nr = len(machine.traces(unit, 'grower.*.snap.seep'))  # of the other one, which is traced
        machine.wait(lambda: len(machine.traces(unit, 'grower.*.snap.seep')) > nr + 1)
        assert machine('kill', '-9', pid).code == 0
        machine.wait(lambda: not machine('pgrep', '-f', 'service watch').out)
        assert not machine.traces(unit, f'*.{pid}.*.end.seep')


def test_a_service_with_a_low_limit_of_file_sizes_is_traced(machine):
    with watched(machine, 'limited', 'ExecStart=/opt/grower\nLimitFSIZE=1K:infinity\n') as unit:
        machine.wait(lambda: len(machine.traces(unit, '*.snap.seep')) > 2)


def test_the_service_does_not_notice_that_the_watcher_dies(machine, grower):
    assert service(machine, 'enable', '--restart', 'grower').code == 0
    pid = machine.main_pid(grower)
    watcher = machine.wait(lambda: machine('pgrep', '-f', 'service watch').out.split())
    assert machine('kill', '-9', *[int(one) for one in watcher]).code == 0
    machine.wait(lambda: not machine('pgrep', '-f', 'service watch').out)
    assert machine('systemctl', 'is-active', 'grower').out.strip() == b'active' and machine.main_pid(grower) == pid
    assert machine('systemctl', 'stop', 'grower').code == 0
    assert machine('systemctl', 'is-active', 'grower').out.strip() == b'inactive'


def test_snapshot_by_memory_and_the_bound_of_the_folder(machine, grower):
    machine.unit('grower.service', '[Service]\nExecStart=/opt/grower 24\n')
    assert service(machine, 'enable', '--restart', '--snap-at', '16M', '--keep', '1', '--every', '100ms', 'grower').code == 0
    machine.wait(lambda: machine.traces(grower, '*.snap.seep'))
    machine.wait(lambda: len(machine.traces(grower)) == 1 or None)
    service(machine, 'enable', '--restart', '--snap-at', '16M', 'grower')
    machine.wait(lambda: machine.traces(grower, '*.memory.seep'))


def test_a_hardened_service(machine):
    machine.unit('hard.service', '[Service]\nExecStart=/opt/grower\nDynamicUser=yes\nProtectSystem=strict\nPrivateTmp=yes\n'
                 'PrivateDevices=yes\nSystemCallFilter=@system-service\nMemoryMax=32M\n')
    library = Path('/usr/lib/seep-test/libseep.so')
    assert machine('install', '-D', '-m', '644', BUILD / 'libseep.so', library).code == 0
    assert machine('systemctl', 'start', 'hard').code == 0
    done = machine(SEEP, 'service', 'enable', '--restart', 'hard', SEEP_LIBRARY=library)
    assert b'forbids: mincore\n' in done.err, done
    text = (machine.root / 'etc/systemd/system/hard.service.d/50-seep.conf').read_text()
    done = machine(SEEP, 'service', 'enable', '--restart', 'hard', SEEP_LIBRARY=library)
    assert (machine.root / 'etc/systemd/system/hard.service.d/50-seep.conf').read_text() == text, done
    assert done.code == 0 and b'filters of system calls' in done.err and b'bounded to 32 MiB' in done.err, done
    assert not machine('systemd-analyze', 'verify', 'hard.service').err
    machine.wait(lambda: b'traced since' in service(machine, 'status', 'hard').out)
    assert machine('systemctl', 'stop', 'hard').code == 0
    assert len(machine.traces('hard.service', 'exit/grower.*.seep')) == 2  # one a start
    assert service(machine, 'disable', 'hard').code == 0


@pytest.mark.parametrize('lines, said', [
    ('RootDirectory=/srv', b'it runs in another root, /srv'),
    ('PrivateTmp=yes', b'PrivateTmp=yes gives it a /tmp of its own'),
    ('PrivateDevices=yes', b'PrivateDevices=yes gives it a /dev of its own'),
    ('ProtectSystem=full', b'ProtectSystem=full lets nothing be written to /etc/x'),
    ('ProtectHome=yes', b'ProtectHome=yes hides the folder /home/x'),
    ('User=nobody\nEnvironmentFile=/opt/variables', b'/opt/variables sets LD_PRELOAD'),
    ('SystemCallFilter=@basic-io', b'SystemCallFilter does not allow clone and wait4'),
    ('AppArmorProfile=tight', b'the AppArmor profile'),
])
def test_obstacles(machine, lines, said):
    """Named before anything is written; nothing is written then."""
    folder = {b'/tmp': '/tmp/x', b'/dev': '/dev/shm/x', b'/etc': '/etc/x', b'/home': '/home/x'}
    where = next((path for key, path in folder.items() if key in said), '/var/lib/x')
    (machine.root / 'opt/variables').write_text('LD_PRELOAD=/x.so\n')
    machine.unit('obstacle.service', f'[Service]\nExecStart=/opt/grower\n{lines}\n')
    done = service(machine, 'enable', '--dry-run', '--folder', where, 'obstacle')
    assert said in done.err, done
    assert done.code == (0 if b'profile' in said else 1)
    assert not (machine.root / 'etc/systemd/system/obstacle.service.d').exists()


def test_a_program_that_cannot_be_traced(machine, tmp_path):
    (tmp_path / 'static.c').write_bytes((HERE / 'service_server.c').read_bytes())
    need('gcc')
    assert run(['gcc', '-static', '-o', tmp_path / 'static', tmp_path / 'static.c']).code == 0
    target = machine.root / 'opt/static'
    target.write_bytes((tmp_path / 'static').read_bytes())
    target.chmod(0o755)
    machine.unit('static.service', '[Service]\nExecStart=/opt/static\n')
    done = service(machine, 'enable', 'static')
    assert done.code == 1 and b'static' in done.err and b'nothing was changed' in done.err, done


@pytest.mark.parametrize('user, setuid, capability, refused', [
    ('nobody', True, False, True), ('root', True, False, False), ('65534', False, True, True), ('root', False, True, False)])
def test_programs_that_raise_their_rights(machine, user, setuid, capability, refused):
    """The loader ignores LD_PRELOAD for them, by what the user of the service is, not by who enables it."""
    need('setcap')
    raised = machine.root / 'opt/raised'
    raised.unlink(missing_ok=True)
    raised.write_bytes((machine.root / 'opt/grower').read_bytes())
    raised.chmod(0o4755 if setuid else 0o755)
    if capability and machine('setcap', 'cap_net_bind_service+ep', '/opt/raised').code:
        pytest.skip('no file capabilities on this file system')
    machine.unit('raised.service', f'[Service]\nExecStart=/opt/raised\nUser={user}\n')
    library = Path('/usr/lib/seep-test/libseep.so')
    assert machine('install', '-D', '-m', '644', BUILD / 'libseep.so', library).code == 0
    done = machine(SEEP, 'service', 'enable', '--dry-run', 'raised', SEEP_LIBRARY=library)
    assert (messages.SET_USER_ID.encode() in done.err) == refused == (done.code == 1), done


def test_what_enable_sets_reaches_the_service(machine, grower):
    """A recording with few frames, and a snapshot by signal: the service goes on."""
    words = ['--mode', 'record', '--depth', '1', '--age', '--signal', 'USR2']
    assert service(machine, 'enable', '--restart', *words, 'grower').code == 0
    pid = machine.main_pid(grower)
    variables = dict(one.split(b'=', 1) for one in (machine.root / f'proc/{pid}/environ').read_bytes().split(b'\0') if one)
    assert [variables[name] for name in (b'SEEP_MODE', b'SEEP_DEPTH', b'SEEP_AGE', b'SEEP_SIGNAL')] == [b'record', b'1', b'yes', b'USR2']
    machine.wait(lambda: machine.catches(pid, signal.SIGUSR2))
    assert machine('kill', '-USR2', pid).code == 0
    machine.wait(lambda: machine.traces(grower))
    assert machine('systemctl', 'is-active', 'grower').out.strip() == b'active' and machine.main_pid(grower) == pid
    assert machine('systemctl', 'stop', 'grower').code == 0
    [left] = machine.wait(lambda: machine.traces(grower, 'exit/grower.*.seep'))
    [process] = report(left)
    assert max(len(site['stack']) for site in process['sites']) == 1
    assert b'allocations' in run([SEEP, 'history', left]).out


def test_a_user_who_may_not(machine, grower):
    done = machine('setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', SEEP, 'service', 'enable', 'grower')
    # A project in a folder of mode 0700 is not there for this user.
    reachable = all(folder.stat().st_mode & 1 for folder in Path(SEEP).resolve().parents)
    said = b'ermission denied' if reachable else f'libseep.so {messages.NOT_BESIDE}'.encode()
    assert done.code == 1 and done.err.count(b'\n') >= 1 and said in done.err, done
    assert not (machine.root / 'etc/systemd/system/grower.service.d').exists()


@pytest.mark.parametrize('words, said', [
    (['nonesuch'], b"there is no service 'nonesuch.service'"),
    (['grower@'], b'is a template (name one of its instances: grower@NAME.service)'),
    (['basic.target'], b'is no service'),
    (['../x'], messages.NO_UNIT_NAME.encode()),
    (['--user', 'grower'], b'no systemd answers'),
])
def test_no_such_unit(machine, words, said):
    for action in ('enable', 'disable', 'status'):
        done = service(machine, action, *words)
        assert done.code != 0 and said in done.err and done.err.count(b'\n') == 1, done


def test_masked_and_read_only(machine, grower):
    machine.unit('hidden.service', '')
    (machine.root / 'etc/systemd/system/hidden.service').unlink()
    assert machine('systemctl', 'mask', 'hidden.service').code == 0
    done = service(machine, 'enable', 'hidden')
    assert done.code == 1 and b"is masked ('systemctl unmask hidden.service'" in done.err, done
    done = machine('unshare', '-m', 'sh', '-c', f'mount --bind /etc /etc && mount -o remount,ro,bind /etc && '
                   f'exec {SEEP} service enable grower')
    assert done.code == 1 and b'Read-only file system' in done.err and b'--dry-run' in done.err, done
    assert not (machine.root / 'var/lib/seep/grower.service').exists()


def test_two_at_once(machine, grower):
    done = machine('sh', '-c', f'for i in 1 2 3 4; do {SEEP} service enable --sample $((i * 1000)) grower & done; wait')
    assert done.err.count(b'which stays') == 4, done
    text = (machine.root / 'etc/systemd/system/grower.service.d/50-seep.conf').read_text()
    assert re.search(r'\n\[Service\]\nEnvironment="LD_PRELOAD=[^"]*"\n(.*\n)*ExecStartPost=.*\n$', text), text
    assert [path.name for path in (machine.root / 'etc/systemd/system/grower.service.d').iterdir()] == ['50-seep.conf']


def test_dry_run_prints_what_is_done(machine, grower):
    words = ['--sample', '512K', '--age', '--signal', 'PROF', '--mode', 'count', '--every', '1h', '--snap-at', '80%', 'grower']
    done = service(machine, 'enable', '--dry-run', *words)
    assert done.code == 0, done
    path = machine.root / 'etc/systemd/system/grower.service.d/50-seep.conf'
    assert not path.exists() and not (machine.root / 'var/lib/seep/grower.service').exists()
    assert service(machine, 'enable', *words).code == 0
    said = done.out.decode()
    assert path.read_text() == said.partition('50-seep.conf\n')[2].partition('run ')[0]
    assert said.startswith('make   /var/lib/seep/grower.service\n') and said.endswith('run    systemctl daemon-reload\n')
    assert service(machine, 'disable', '--dry-run', 'grower').out.startswith(b'remove /etc/systemd/system/grower.service.d/')
    assert path.exists()


def test_the_manager_of_a_user(machine):
    """It sets the service's limits for the watcher too. The manager of the system does not, because that watcher has all rights."""
    if machine('systemctl', 'start', 'user@0.service').code:
        pytest.skip('no manager of a user starts here (libpam-systemd is not installed)')
    unit = machine.root / f'{HOME[1:]}/.config/systemd/user/mine.service'
    unit.parent.mkdir(parents=True, exist_ok=True)
    unit.write_text('[Service]\nExecStart=/opt/grower\nLimitFSIZE=1G:infinity\n')
    where = {'XDG_RUNTIME_DIR': '/run/user/0'}
    assert machine('systemctl', '--user', 'daemon-reload', **where).code == 0
    assert machine('systemctl', '--user', 'start', 'mine', **where).code == 0
    done = machine(SEEP, 'service', 'enable', '--user', '--restart', 'mine', **where)
    assert done.code == 0 and f'wrote  {HOME}/.config/systemd/user/mine.service.d/50-seep.conf'.encode() in done.out, done
    machine.wait(lambda: b'traced since' in machine(SEEP, 'service', 'status', '--user', 'mine', **where).out)
    watcher = machine('pgrep', '-f', 'service watch .*mine.service').out.split()[0].decode()
    machine.wait(lambda: re.search(r'Max file size +unlimited', (machine.root / f'proc/{watcher}/limits').read_text()))
    assert machine('systemctl', '--user', 'stop', 'mine', **where).code == 0
    assert len(list((machine.root / f'{HOME[1:]}/.local/state/seep/mine.service/exit').glob('grower.*.seep'))) == 1
    done = machine(SEEP, 'service', 'disable', '--user', 'mine', **where)
    assert done.code == 0 and not (machine.root / f'{HOME[1:]}/.config/systemd/user/mine.service.d').exists(), done
