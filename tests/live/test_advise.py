# SPDX-License-Identifier: BSD-2-Clause
"""seep advise: each advice that is planted in a program is found at its place; tuned programs get none."""
import json
from pathlib import Path

import pytest
from harness import SEEP, need, run

HERE = Path(__file__).parent
HUGE_PAGES = Path('/sys/kernel/mm/transparent_hugepage/enabled')

# Kind, and how often what was planted is done, or how large it is, in thousandths: as little as an advice is given for.
PLANTS = {'STACK': ('stack', 100), 'RESERVE': ('reserve', 60), 'BUFFER': ('buffer', 30), 'ARENA': ('arena', 100),
          'POOL': ('pool', 100), 'PACK': ('pack', 150), 'HUGE': ('huge pages', 100), 'TUNABLE': ('tunable', 140)}


def record(folder, source, *options):
    need('gcc')
    program, trace = folder / 'program', folder / 'recording.seep'
    done = run(['gcc', '-g', '-O1', '-fno-builtin', '-pthread', '-Wno-unused-function', *options, HERE / source, '-o', program])
    assert done.code == 0, done
    done = run([SEEP, 'run', '-q', '--scan', 'no', '--mode', 'record', '-o', trace, '--', program], cwd=folder)
    assert done.code == 0, done
    return trace


def advise(trace, *options):
    # Sixteen rounds take as long as the machine is busy; the test has a limit of its own.
    done = run([SEEP, 'advise', '--rounds', 4, *options, trace], timeout=None)
    assert done.code == 0 and not done.err, done
    return done.out


@pytest.mark.parametrize('plant', PLANTS)
def test_what_is_planted_is_found(plant, tmp_path):
    kind, times = PLANTS[plant]
    if plant == 'HUGE' and (not HUGE_PAGES.exists() or '[madvise]' not in HUGE_PAGES.read_text()):
        pytest.skip('this kernel does not give huge pages to those who ask for them')
    # Other work on the machine makes times vary, and the kernel's for a huge page varies a hundredfold between pages. Once
    # seep is sure, it makes no more rounds.
    trace = record(tmp_path, 'advise_plants.c', '-D' + plant, f'-DTIMES={times}')
    result = json.loads(advise(trace, '--json', '--rounds', 16))
    assert result['tried'] and len(result['advice']) <= 10, result
    found = {row['kind']: row for row in result['advice']}
    assert kind in found, result
    row = found[kind]
    assert row['replayed'] and max(row['share_of_run'], row['share_of_peak']) >= 0.01
    assert row['saved_ns_low'] <= row['saved_ns'] <= row['saved_ns_high']
    assert row['saved_bytes_low'] <= row['saved_bytes'] <= row['saved_bytes_high']
    if kind in ('tunable', 'huge pages'):
        assert row['setting'].startswith('glibc:') and row['place'] is None
    else:
        assert row['place'].startswith('plant (advise_plants.c:'), row
    if plant == 'PACK':  # 9 bytes take 32, and 16 in chunks
        assert row['share_of_peak'] == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize('number', range(1, 11))
def test_a_tuned_program_gets_none(number, tmp_path):
    trace = record(tmp_path, 'advise_tuned.c', f'-DTUNED={number}')
    text = advise(trace).decode()
    assert 'Nothing would save a hundredth' in text, text


def test_the_text(tmp_path):
    lines = advise(record(tmp_path, 'advise_plants.c', '-DPOOL', '-DTIMES=100'), '--rounds', 16).decode().splitlines()
    assert lines[0].startswith('program, pid ') and ' calls, which take ' in lines[0]
    at = next(i for i, line in enumerate(lines) if line.startswith('pool '))
    assert lines[at].endswith(')') and 'plant (advise_plants.c:' in lines[at]
    assert lines[at + 1].startswith('    ') and 'blocks of 104 B' in lines[at + 1]
    assert lines[at + 2].startswith('    saves ') and '% of the run' in lines[at + 2]


def test_no_recording_and_no_such_process(tmp_path):
    trace = tmp_path / 'live.seep'
    assert run([SEEP, 'run', '-q', '-o', trace, 'true']).code == 0
    done = run([SEEP, 'advise', trace])
    assert done.code == 1 and b'--mode record' in done.err and done.err.count(b'\n') == 1, done
    done = run([SEEP, 'advise', '--pid', 1, trace])
    assert done.code == 1 and b'no process 1' in done.err and done.err.count(b'\n') == 1, done
