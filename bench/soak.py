#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""make soak: servers under seep and real clients for a long time (SECONDS=n, default 1200 in all).

redis-server and nginx with worker processes each serve half of the time. Every answer is compared with what it must
be; the memory of the image and of the tool is read all along, and must be steady once it is warm; at the end no event
may be lost. Prints a table; exit status 1 when something does not hold.
"""
import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM_ENV = {'PATH': '/usr/bin:/bin:/usr/sbin:/sbin', 'LC_ALL': 'C'}


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def wait_for(port):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as s:
            if s.connect_ex(('127.0.0.1', port)) == 0:
                return
        time.sleep(0.05)
    sys.exit('soak: the server does not answer')


def descendants(pid):
    found, rest = [], [pid]
    while rest:
        now = rest.pop()
        try:
            children = Path(f'/proc/{now}/task/{now}/children').read_text().split()
        except OSError:
            continue
        rest += [int(c) for c in children]
        found += [int(c) for c in children]
    return found


def image_bytes(pid):
    """Resident bytes of the image in one process."""
    total, ours = 0, False
    try:
        for line in Path(f'/proc/{pid}/smaps').read_text().splitlines():
            if '-' in line.split(' ')[0]:
                ours = 'memfd:seep-image' in line
            elif ours and line.startswith('Rss:'):
                total += int(line.split()[1]) * 1024
    except OSError:
        pass
    return total


def rss_bytes(pid):
    try:
        return int(Path(f'/proc/{pid}/statm').read_text().split()[1]) * os.sysconf('SC_PAGESIZE')
    except OSError:
        return 0


class Redis:
    name = 'redis-server'

    def __init__(self, folder):
        self.port, self.folder, self.round = free_port(), folder, 0

    def command(self):
        return ['redis-server', '--port', str(self.port), '--save', '', '--appendonly', 'no', '--dir', self.folder,
                '--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru', '--daemonize', 'no']

    def work(self):
        """One round of clients: (requests, wrong answers)."""
        self.round += 1
        subprocess.run(['redis-benchmark', '-p', str(self.port), '-q', '-n', '20000', '-c', '20', '-d', '64', '-r', '5000',
                        '-t', 'set,get,lpush,lpop,sadd,hset'], stdout=subprocess.DEVNULL, check=True, env=PROGRAM_ENV)
        wrong = 0
        with socket.create_connection(('127.0.0.1', self.port), timeout=60) as s:
            stream = s.makefile('rwb')
            for i in range(500):
                value = f'{self.round}:{i}' * (i % 30 + 1)
                stream.write(f'SET soak:{i} {value}\r\nGET soak:{i}\r\n'.encode())
                stream.flush()
                wrong += stream.readline() != b'+OK\r\n'
                wrong += stream.readline() != f'${len(value)}\r\n'.encode()
                wrong += stream.readline() != f'{value}\r\n'.encode()
        return 6 * 20000 + 1000, wrong


class Nginx:
    name = 'nginx, 3 workers'

    def __init__(self, folder):
        self.port = free_port()
        self.folder = Path(folder)
        (self.folder / 'page').write_bytes(bytes(i * 7 % 251 for i in range(20000)))
        os.chmod(folder, 0o755)
        (self.folder / 'conf').write_text(
            'daemon off; worker_processes 3; pid nginx.pid; error_log stderr crit; events { worker_connections 512; }\n'
            'http { access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; '
            f'scgi_temp_path s; gzip on; gzip_min_length 10; gzip_types *; server {{ listen 127.0.0.1:{self.port}; '
            f'root {folder}; }} }}\n')

    def command(self):
        return ['nginx', '-p', str(self.folder), '-c', 'conf']

    def work(self):
        wrong, page = 0, (self.folder / 'page').read_bytes()
        for i in range(1500):
            packed = i % 3 == 0
            with socket.create_connection(('127.0.0.1', self.port), timeout=60) as s:
                s.sendall(b'GET /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n'
                          + (b'Accept-Encoding: gzip\r\n' if packed else b'') + b'\r\n')
                answer = b''
                while part := s.recv(65536):
                    answer += part
            head, _, body = answer.partition(b'\r\n\r\n')
            wrong += not head.startswith(b'HTTP/1.1 200') or (not packed and body != page) or len(body) < 200
        return 1500, wrong


def soak(seep, make, seconds):
    with tempfile.TemporaryDirectory() as folder:
        server = make(folder)
        trace = Path(folder) / 'soak.seep'
        tool = subprocess.Popen([seep, 'run', '-q', '-o', trace, '--', *server.command()], env=PROGRAM_ENV, cwd=folder,
                                stdout=subprocess.DEVNULL)
        rows, requests, wrong = [], 0, 0
        try:
            wait_for(server.port)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                done, bad = server.work()
                requests, wrong = requests + done, wrong + bad
                processes = descendants(tool.pid)
                rows.append((sum(image_bytes(p) for p in processes), rss_bytes(tool.pid),
                             sum(rss_bytes(p) for p in processes)))
            main = Path(f'/proc/{tool.pid}/task/{tool.pid}/children').read_text().split()[0]
            os.kill(int(main), signal.SIGTERM)
            tool.wait(timeout=120)
        finally:
            if tool.poll() is None:
                for pid in descendants(tool.pid):
                    os.kill(pid, signal.SIGKILL)
                tool.kill()
                tool.wait()
        shown = subprocess.run([seep, 'report', '--json', '--top', '1', trace], stdout=subprocess.PIPE, check=True)
    whole = json.loads(shown.stdout)
    processes = whole.get('processes') or [whole]
    warm = rows[len(rows) // 3]
    last = rows[-1]
    return {
        'name': server.name, 'seconds': seconds, 'rounds': len(rows), 'requests': requests, 'wrong': wrong,
        'events': sum(p['health']['events'] for p in processes), 'processes': len(processes),
        'lost': sum(sum(p['health']['lost'].values()) for p in processes),
        'image': (warm[0], last[0]), 'tool': (warm[1], last[1]), 'status': tool.returncode,
    }


def steady(pair):
    """A tenth more than when it was warm, or a mebibyte: new stacks are met now and then."""
    return pair[1] <= pair[0] * 1.1 + (1 << 20)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--build', default='build')
    parser.add_argument('--seconds', type=int, default=1200)
    options = parser.parse_args()
    seep = Path(options.build).resolve() / 'seep'
    makers = [m for m, program in ((Redis, 'redis-server'), (Nginx, 'nginx')) if shutil.which(program)]
    good = bool(makers)
    mib = 1 << 20
    print(f'{"server":18} {"seconds":>7} {"requests":>10} {"wrong":>5} {"events":>12} {"lost":>5} '
          f'{"image MiB warm, end":>20} {"tool MiB warm, end":>19}')
    for make in makers:
        row = soak(seep, make, options.seconds // len(makers))
        holds = not row['wrong'] and not row['lost'] and steady(row['image']) and steady(row['tool']) and row['status'] == 0
        good = good and holds
        print(f'{row["name"]:18} {row["seconds"]:7} {row["requests"]:10} {row["wrong"]:5} {row["events"]:12} {row["lost"]:5} '
              f'{row["image"][0] / mib:9.1f} {row["image"][1] / mib:10.1f} {row["tool"][0] / mib:8.1f} {row["tool"][1] / mib:10.1f}'
              f'{"" if holds else "   DOES NOT HOLD"}', flush=True)
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
