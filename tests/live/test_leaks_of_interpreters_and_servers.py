# SPDX-License-Identifier: BSD-2-Clause
"""Programs of the distribution whose blocks were reported as lost by mistake: php, which loads modules with RTLD_DEEPBIND, and
apache, where it was the dtv of each thread."""
import os
import signal
import subprocess

from harness import SEEP, environment, kill, need, no_losses, report, run, wait_until
from test_behaviour import answers, free_port, get


def nothing_is_lost(process):
    no_losses(process)
    assert process['health']['complete'] and process['mismatches'] == [], process['health']
    for kind in ('lost', 'indirect', 'possible'):
        assert process['leaks'][kind]['blocks'] == 0, process['leaks']


def test_php(tmp_path):
    """40 blocks of its modules (RTLD_DEEPBIND) were freed without the hooks, and counted as lost."""
    need('php')
    done = run([SEEP, 'run', '-q', '-o', tmp_path / 'php.seep', 'php', '-r', 'echo strlen(str_repeat("a", 1000));'])
    assert (done.code, done.out) == (0, b'1000'), done
    nothing_is_lost(report(tmp_path / 'php.seep')[0])


def test_apache(tmp_path):
    """A server has threads when it is told to stop. Memory that libc keeps for each thread is not lost."""
    need('apache2')
    port = free_port()
    (tmp_path / 'index.html').write_text('hello ' * 2000)
    modules = '/usr/lib/apache2/modules'
    (tmp_path / 'apache.conf').write_text(
        f'ServerRoot {tmp_path}\nServerName localhost\nPidFile {tmp_path}/pid\nDefaultRuntimeDir {tmp_path}\nMutex file:{tmp_path}\n'
        f'Listen 127.0.0.1:{port}\nErrorLog {tmp_path}/log\nDocumentRoot {tmp_path}\n'
        f'LoadModule mpm_event_module {modules}/mod_mpm_event.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\n'
        'StartServers 1\nServerLimit 1\nThreadsPerChild 4\nMaxRequestWorkers 4\nMinSpareThreads 1\nMaxSpareThreads 4\n')
    server = subprocess.Popen([SEEP, 'run', '-q', '-o', tmp_path / 'apache.seep', 'apache2', '-D', 'FOREGROUND', '-f',
                               tmp_path / 'apache.conf'], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: answers(port) or server.poll() is not None, 'apache2')
        assert server.poll() is None, server.stdout.read()
        assert b'HTTP/1.1' in get(port, '/index.html')[0]
        os.kill(int((tmp_path / 'pid').read_text()), signal.SIGTERM)
        assert server.wait(timeout=60) == 0, server.stdout.read()
    finally:
        kill(server)
    processes = report(tmp_path / 'apache.seep')
    assert len(processes) >= 2
    for process in processes:
        nothing_is_lost(process)
