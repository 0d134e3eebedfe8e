#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes first inputs of fuzz targets into tests/fuzz/corpus: traces and recordings of the test programs with all
sections unpacked, and what is easier to say than to find: make_seeds.py BUILD. Those that are there are replaced."""
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / 'live'), str(Path(__file__).resolve().parent.parent)]
from recording import decode, sections  # noqa: E402

CORPUS = Path(__file__).resolve().parent / 'corpus'
BUILD = Path(sys.argv[1]).resolve()


def put(target, name, data):
    folder = CORPUS / target
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)


# ---- records of the ring (image/bpf_events.h) ----

ALLOC, FREE, RESIZE, RESIZED, FAILED, STACK, LANDING, MODULES, MET, CODE, FORK, EXEC, EXIT, MAP, UNMAP, FAULT, SAMPLE, UNREAD, \
    REST = range(1, 20)


def event(kind, address=0, pid=0, rest=b'', detail=0):
    record = struct.pack('<BBHIIIQ', kind, 1, detail, pid, 7, 1000, address) + rest
    return bytes([len(record)]) + record


def bpf_events():
    def alloc(kind, address, size, stack, pid=0, detail=0):
        return event(kind, address, pid, struct.pack('<QQ', size, stack), detail)

    def stack(number, *frames, end=0):
        return event(STACK, number, rest=struct.pack('<II', len(frames), end) + struct.pack('<%dQ' % len(frames), *frames))

    first = stack(11, 0x2000, 0x3000, 0x4000) + stack(12, 0x2000 | 1 << 63, 0x99999999, end=3)
    heap = first + alloc(ALLOC, 0x100000, 64, 11) + alloc(ALLOC, 0x200000, 4096, 12) + event(FREE, 0x100000) + \
        event(RESIZE, 0x200000) + alloc(RESIZED, 0x300000, 8192, 11) + event(FAILED) + event(FREE, 0x555)
    put('bpf_events', 'heap', b'\0' + heap)
    put('bpf_events', 'processes', b'\1' + heap + event(FORK, 1) + event(FREE, 0x300000, pid=1) +
        event(EXEC, 0, pid=1, rest=b'/bin/other'.ljust(256, b'\0')[:255 - 24]) + event(MET, 0, pid=2) +
        alloc(ALLOC, 0x400000, 5, 11, pid=2) + event(EXIT, 9, pid=2) + event(EXIT, 256, pid=1) + event(EXIT, 0))
    put('bpf_events', 'family', b'\0' + heap + event(FORK, 3) + alloc(ALLOC, 0x500000, 5, 11, pid=3) + event(LANDING, 0x2000) +
        event(MODULES) + event(EXIT, 11, pid=3))
    put('bpf_events', 'mappings', b'\0' + first + alloc(MAP, 0x10000000, 1 << 20, 11, detail=1) + alloc(FAULT, 0x10001000, 0, 11) +
        alloc(FAULT, 0x10001000, 0, 12) + alloc(UNMAP, 0x10010000, 4096, 0) + alloc(MAP, 0x10000000, 8192, 12))
    put('bpf_events', 'samples', b'\2' + first + event(SAMPLE, 0x100000, rest=struct.pack('<QQQ', 64, 11, 1 << 20)) +
        event(SAMPLE, 0x100000, rest=struct.pack('<QQQ', 64, 12, 0)) + event(FREE, 0x100000))
    names = b''.join(name.ljust(64, b'\0') for name in (b'closed.so', b'nowhere'))
    put('bpf_events', 'unread', b'\1' + event(UNREAD, 21, rest=struct.pack('<QQQQQ', 0x7000, 0x9000, 1, 2, 3) + names) +
        stack(21, 0x8000, end=7) + alloc(ALLOC, 0x100000, 64, 21))
    words = struct.pack('<12Q', *[0x2005, 0x7f0040, 0x3005, 0x7f0050, 0x2105] * 2, 0x5005, 0x6005)
    rest = struct.pack('<QQQQIIB7x', 0x2004, 0x7f0000, 0x7f0020, 0x7f1000, 1, len(words), 0) + words
    put('bpf_events', 'rest', b'\1' + event(REST, 21, rest=rest) + stack(21, 0x2005, end=6) + alloc(ALLOC, 0x100000, 64, 21))
    put('bpf_events', 'code', b'\1' + event(CODE, 0x7000, rest=struct.pack('<QQQQ', 0x9000, 1, 2, 3)))


# ---- memory of the kernel's tracer (image/bpf_kernel.h) ----

def kernel_memory():
    def bucket(*keys):
        return struct.pack('<8Q', 0, *(list(keys) + [0] * (7 - len(keys))))

    def blocks(*listed):
        return b''.join(struct.pack('<QII', *block) for block in listed).ljust(7 * 16, b'\0')

    def site(cls, frames, name=b'', nr=None, live=(0, 0)):
        return struct.pack('<IIQ', cls, len(frames) if nr is None else nr, 0) + name.ljust(32, b'x' if nr else b'\0') + \
            struct.pack('<QQ', *live) + struct.pack('<64Q', *(list(frames) + [0] * (64 - len(frames))))

    stack = [0xffffffff81001010, 0xffffffff81000010, 0xffffffff81002010, 0xffffffffc0000010]
    sites = site(0, []) + site(1, stack, b'dentry', live=(3, 300)) + site(3, stack[1:], live=(1, 4096)) + \
        site(99, stack, b'name without an end', nr=0xffffffff)
    both = bucket(0xffff888000000040, 0xffff888000000080, 1, 0xffffea0000000000) + \
        bucket(0xffff8880000000c0) + \
        blocks((1, 64, 1), (2, 128, 1), (3, 1, 1), (4, 4096, 2)) + blocks((1 << 63, 64, 0xffffffff))
    counters = struct.pack('<11Q', *range(10, 21))
    for name, how in (('blocks', 0), ('combined', 1), ('old', 2)):
        put('kernel_memory', name, bytes([2, 4, 4, how]) + both + sites + counters)
    put('kernel_memory', 'many_sites', bytes([2, 1, 255, 0]) + bucket(*range(16, 23)) + bucket(*range(32, 39)) +
        blocks(*[(1, 8, n) for n in range(1, 8)]) + blocks(*[(1, 8, n << 20) for n in range(1, 8)]))


# ---- what systemctl says, and a drop-in ----

def service():
    put('service', 'unit', b'''Id=nginx.service
LoadState=loaded
ActiveState=active
ControlGroup=/system.slice/nginx.service
ExecStart={ path=/usr/sbin/nginx ; argv[]=/usr/sbin/nginx -g daemon on; ; ignore_errors=no ; pid=0 }
User=www
DynamicUser=no
Environment=A=1 "LD_PRELOAD=/usr/lib/libother.so:/usr/lib/libseep.so" 'B=2 3' $'C=a\\nb'
EnvironmentFiles=/etc/default/nginx (ignore_errors=yes)
RootDirectory=
RootImage=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
MemoryMax=infinity
MemoryHigh=33554432
SystemCallFilter=clone wait4 exit_group openat read close mmap write:EPERM
RestrictNamespaces=yes
MemoryDenyWriteExecute=yes
AppArmorProfile=a
SELinuxContext=b
MainPID=42
DropInPaths=/etc/systemd/system/nginx.service.d/50-seep.conf
StateChangeTimestamp=Tue 2026-01-06 10:00:00 UTC
''')
    put('service', 'denies', b'Id=a.service\nLoadState=loaded\nExecStart={ path=/bin/a ; }\nSystemCallFilter=~memfd_create mincore\n')
    put('service', 'drop_in', b'''# Made by 'seep service enable nginx.service'; 'seep service disable nginx.service' removes it.
# seep-folder: 536870912 /var/lib/seep/nginx.service
[Service]
Environment="LD_PRELOAD=/usr/lib/libseep.so"
Environment="SEEP_OUT=/var/lib/seep/nginx.service/exit/%%e.%%p.seep"
SystemCallFilter=memfd_create mincore
ExecStartPost=-+/usr/bin/env -u LD_PRELOAD -u SEEP_OUT "/usr/bin/seep" service watch --folder "/var/lib/seep/nginx.service"
''')
    put('service', 'damaged', b'x\n# seep-folder: 99999999999999999999999 relative\n')


# ---- real traces, their sections unpacked ----

def zigzag(value):
    value, found = value << 1 if value >= 0 else ~value << 1 | 1, []
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


# The first process starts in the far future, the others in the far past: 64 bits do not hold a moment between them.
def far_starts(whole):
    starts = list(dict.fromkeys(decode(version, raw).start for version, raw in sections(whole)))
    for start in starts:
        far = (1 << 62) - 1 if start == starts[0] else -(1 << 62)
        assert len(zigzag(far)) == len(zigzag(start))
        whole = whole.replace(zigzag(start), zigzag(far))
    return whole


def traces(folder):
    plain = BUILD / 'tests/fuzz/plain_trace'
    subprocess.run(['ninja', '-C', BUILD, 'tests/fuzz/plain_trace'], check=True, stdout=subprocess.DEVNULL)
    env = {k: v for k, v in os.environ.items() if not k.startswith('SEEP_')}

    def made(name, program, *options):
        subprocess.run([BUILD / 'seep', 'run', '-q', '-o', folder / 'packed', *options, '--', BUILD / 'tests/programs' / program],
                       env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        subprocess.run([plain, folder / 'packed', folder / name], check=True)
        where = str(BUILD).encode()  # of this machine; checksums are put right by the targets
        return (folder / name).read_bytes().replace(where, b'/' + b'b' * (len(where) - 1))

    put('trace', 'real_lives', made('lives', 'gcc-O2@lives', '--age', '--free-stacks'))
    put('trace', 'real_plain', made('plain', 'gcc-O2@plain', '--snap-at', '1K'))
    put('trace', 'real_operators', made('operators', 'gcc-O2@operators', '--wipe-freed', 'yes'))
    asked = {
        'all': b'\0' + bytes(33),
        'times': b'\2' + struct.pack('<3BQ', 0, 4, 0, 1000) + struct.pack('<3BQ', 0, 1, 2, 18) + bytes(11),
        'texts': b'\2' + struct.pack('<3BQ', 0, 2, 4, 3) + struct.pack('<3BQ', 1, 1, 6, 3) + bytes(11),
        'site': b'\3' + struct.pack('<3BQ', 2, 0, 7, 1) + struct.pack('<3BQ', 3, 0, 7, 0) + struct.pack('<3BQ', 1, 3, 0, 4096),
    }
    for program in ('plain', 'lives', 'slots'):
        recording = made('recording', 'gcc-O2@' + program, '--mode', 'record')
        put('recording', 'real_' + program, recording)
        if program == 'lives':
            put('event_file', 'real_' + program, b'\0' + recording)
            for name, head in asked.items():
                put('sql', name, head + recording)
    made('recording', 'gcc-O2@forks', '--scan', 'no', '--mode', 'record')
    put('recording', 'far_starts', far_starts((folder / 'packed').read_bytes()))
    put('sql', 'no_events', asked['site'] + (CORPUS / 'trace/real_plain').read_bytes())


# ---- files of other tools: the first byte chooses the format ----

def imports():
    put('import', 'heaptrack_frames', b'\0' + b'v 10500 3\nX /bin/a 1\nI 1000 1000\ns 3 a.c\ns 4 main\ns 2 m\ni 1000 3 2 1\ni 2000 3 2 2 4 1 9\n'
        b't 1 0\nt 2 1\na 40 1\na 80 2\n+ 0\n+ 1\nc 5\n- 0\nR 100\n+ 0\n# rest\nA\n')
    put('import', 'mmleak_stacks', b'\1' + b'malloc 10 0x1000 0x401000 0x402000\ncalloc 20 0x2000 0x401000\nrealloc 30 0x1000 0x3000 0x402000\nfree 0x2000\n')
    put('import', 'mtrace_many', b'\2' + b'= Start\n@ ./a:(main+0x10)[0x401136] + 0x1000 0x64\n@ [0x401140] < 0x1000\n@ [0x401140] > 0x2000 0x80\n'
        b'@ ./a:[0x401150] - 0x2000\n! 0x10\n= End\n')


bpf_events()
kernel_memory()
service()
imports()
with tempfile.TemporaryDirectory() as place:
    traces(Path(place))
