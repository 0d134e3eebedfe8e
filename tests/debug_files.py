# SPDX-License-Identifier: BSD-2-Clause
"""A folder of debug files with uncompressed ones of the C library. Debian compresses them, and a command that reads them
spends 40 ms, nine tenths of its time, on decompression."""
import fcntl
import json
import re
import shutil
import subprocess
from pathlib import Path

SYSTEM = Path('/usr/lib/debug')
LIBRARIES = ('libc.so.6', 'libm.so.6', 'ld-linux-*')


def _of_the_c_library():
    """The debug files of its libraries, as far as they are installed."""
    libraries = sorted(path for folder in ('/lib/*-linux-gnu', '/lib64') for name in LIBRARIES for path in Path('/').glob(f'{folder[1:]}/{name}'))
    if not libraries or not shutil.which('readelf') or not shutil.which('objcopy'):
        return []
    shown = subprocess.run(['readelf', '-n', *libraries], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
    files = {SYSTEM / '.build-id' / found[:2] / f'{found[2:]}.debug' for found in re.findall(r'Build ID: ([0-9a-f]+)', shown)}
    return sorted(file for file in files if file.exists())


def _make(folder, files):
    shutil.rmtree(folder, ignore_errors=True)
    (folder / '.build-id').mkdir(parents=True)
    taken = {file.parent for file in files}
    for path in (*SYSTEM.iterdir(), *(SYSTEM / '.build-id').iterdir()):
        if path.name != '.build-id' and path not in taken:
            (folder / path.relative_to(SYSTEM)).symlink_to(path)
    for parent in taken:
        own = folder / parent.relative_to(SYSTEM)
        own.mkdir()
        for path in parent.iterdir():
            if path not in files:
                (own / path.name).symlink_to(path)
    for file in files:
        subprocess.run(['objcopy', '--decompress-debug-sections', file, folder / file.relative_to(SYSTEM)], check=True)


def debug_folder(build):
    """The folder is made once for a build, by the first worker. None: no debug files of the C library are installed."""
    folder = Path(build) / 'tests' / 'debug-files'
    if not folder.parent.is_dir():
        return None
    with open(f'{folder}.lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        files = _of_the_c_library()
        if not files:
            return None
        made_of = json.dumps([[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files])
        note = Path(f'{folder}.json')
        if not note.exists() or note.read_text() != made_of:
            _make(folder, files)
            note.write_text(made_of)
    return str(folder)
