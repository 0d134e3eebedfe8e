# SPDX-License-Identifier: BSD-2-Clause
"""Holders with the names and types of their variables: typed.c and typed.cpp say in comments what a scan must say."""
import re
import subprocess
from pathlib import Path

import pytest

import harness
from test_reachability import PATIENCE_S, Traced, scan_json, seep
import report_json

HERE = Path(__file__).resolve().parent


def expected(source):
    found = re.findall(r'// TYPED: (\d+) (.*)', (HERE / source).read_text())
    assert len(found) == len({size for size, _ in found}) >= 8
    return {int(size): words for size, words in found}


def build(folder, compiler, level, source, *more):
    harness.need(compiler)
    output = folder / 'typed'
    standard = '-std=gnu++17' if source.endswith('.cpp') else '-std=gnu11'
    subprocess.run([compiler, standard, level, '-w', '-D_GNU_SOURCE', '-pthread', str(HERE / source), '-o', str(output),
                    *more], check=True, cwd=folder, timeout=PATIENCE_S)
    return output


def told(report):
    """{size: who holds it} in the notation of the comments."""
    def short(text):
        text = re.sub(r' \(typed(_places)?\.\w+:\d+\)| in typed$| in typed(?= ->)', '', text or '')
        return re.sub(r' -> block of \d+ B( \(\S[^\n]*?\))? from \S+( \S+\))? (?=[\[.+])', r' >\1 ', text)
    return {s['live_bytes']: short(s['held_by']) for s in report['sites']}


@pytest.mark.parametrize('source, compiler', [('typed.c', 'gcc'), ('typed.c', 'clang'), ('typed.cpp', 'g++'),
                                              ('typed.cpp', 'clang++')])
@pytest.mark.parametrize('level', ['-O0', '-O2'])
def test_variables_and_members_have_their_names(tmp_path, source, compiler, level):
    with Traced(build(tmp_path, compiler, level, source, '-g'), cwd=tmp_path) as program:
        report = scan_json(program.pid, '--top', '0')
        found, wanted = told(report), expected(source)
        assert {size: found.get(size) for size in wanted} == wanted
        types = {s['live_bytes']: s.get('type') for s in report['sites']}
        if source == 'typed.c':
            assert (types[1032], types[1080], types[1064], types[1176]) == ('entry_t', 'struct user', 'char', None)
        else:
            assert types[2048] == 'shop::Item'


def differences(found, wanted):
    """{size: who holds it} where it is not as wanted."""
    return {size: found.get(size) for size, words in wanted.items()
            if not (found.get(size, '').endswith(words[3:]) if words.startswith('... ') else found.get(size) == words)}


@pytest.mark.parametrize('source, compiler', [('typed_places.c', 'gcc'), ('typed_places.c', 'clang'), ('typed_places.cpp', 'g++'),
                                              ('typed_places.cpp', 'clang++')])
@pytest.mark.parametrize('level', ['-O0', '-O2'])
def test_what_types_do_not_tell_is_an_offset(tmp_path, source, compiler, level):
    with Traced(build(tmp_path, compiler, level, source, '-g'), cwd=tmp_path) as program:
        assert differences(told(scan_json(program.pid, '--top', '0')), expected(source)) == {}


def test_whois_has_the_type_of_a_block_whose_start_is_pointed_to(tmp_path):
    """Of one that a list leads into the type would be that of a part."""
    with Traced(build(tmp_path, 'gcc', '-O0', 'typed_places.c', '-g'), cwd=tmp_path) as program:
        sites = scan_json(program.pid, '--top', '0', '--blocks')['sites']
        at = {s['held_by'].split(' (')[0]: s['blocks'][0]['address'] for s in sites if s['held_by'] and '->' not in s['held_by']}
        types = {}
        for holder in ('global struct list *head.next', 'global struct base *chain'):
            done = seep('whois', '--json', str(program.pid), at[holder])
            assert done.code == 0, done
            types[holder] = report_json.loads(done.out)['block']['type']
    assert types == {'global struct list *head.next': None, 'global struct base *chain': 'struct base'}


def links(text):
    """The notation of the lists of typed_places.c."""
    text = re.sub(r' \(typed_places\.c:\d+\)| in typed(?= ->)', '', text or '')
    text = re.sub(r' -> \.\.\. (\d+) blocks \.\.\.', r' ...\1', text)
    text = re.sub(r' -> (\d+) blocks of \d+ B \(struct \w+\) from \w+ (\.\w+)', lambda run: int(run[1]) * f' {run[2]}', text)
    return re.sub(r' -> block of \d+ B \(struct \w+\) from \w+ ', ' ', text)


@pytest.mark.parametrize('saved', [False, True])
def test_types_go_through_what_is_left_out(tmp_path, saved):
    wanted = dict(re.findall(r'// LIST: (\d+) (.*)', (HERE / 'typed_places.c').read_text()))
    with Traced(build(tmp_path, 'gcc', '-O0', 'typed_places.c', '-g'), cwd=tmp_path) as program:
        trace = tmp_path / 'scanned.seep'
        done = seep('scan', '--json', '--top', '0', *(['-o', str(trace)] if saved else []), str(program.pid))
        assert done.code == 0, done
        if saved:
            done = seep('report', '--json', '--top', '0', str(trace))
        sites = report_json.loads(done.out)['sites']
    held = {s['live_bytes']: links(s['held_by']) for s in sites}
    assert len(wanted) == 3 and {size: held.get(int(size)) for size in wanted} == wanted
    assert {s['live_bytes']: s.get('type') for s in sites}[2032] == 'char'


@pytest.mark.parametrize('debug', [['-gdwarf-4'], ['-g', '-gsplit-dwarf'], ['-g', '-Wl,--compress-debug-sections=zlib']])
def test_other_forms_of_debug_information(tmp_path, debug):
    with Traced(build(tmp_path, 'gcc', '-O1', 'typed.c', *debug), cwd=tmp_path) as program:
        found = told(scan_json(program.pid, '--top', '0'))
        assert found[1064] == 'global entry_t *table[3] > (entry_t) .next > (entry_t) .value.text'
        assert found[1128] == 'global const char *config.inner[1].extra.text'


def test_without_debug_information_offsets_are_told(tmp_path):
    with Traced(build(tmp_path, 'gcc', '-O0', 'typed.c'), cwd=tmp_path) as program:
        held = {s['live_bytes']: s['held_by'] for s in scan_json(program.pid, '--top', '0')['sites']}
        assert held[1032] == 'global table+0x18 in typed'
        assert re.match(r'global table\+0x18 in typed -> block of 1032 B from make\+?\S* \+0x8$', held[1048])
    with Traced(build(tmp_path, 'gcc', '-O0', 'typed.c', '-s'), cwd=tmp_path) as program:
        held = {s['live_bytes']: s['held_by'] for s in scan_json(program.pid, '--top', '0')['sites']}
        assert re.match(r'data of typed\+0x[0-9a-f]+$', held[1032])


def test_holders_of_most_have_the_type_of_the_whole_variable(tmp_path):
    with Traced(build(tmp_path, 'gcc', '-O0', 'typed.c', '-g'), cwd=tmp_path) as program:
        holders = [h['what'] for h in scan_json(program.pid)['leaks']['holders']]
        line = 1 + (HERE / 'typed.c').read_text().splitlines().index('entry_t *table[8];')
        assert f'global entry_t *table[] (typed.c:{line}) in typed' in holders
        assert any(re.match(r'global struct config config \(typed.c:\d+\) in typed$', h) for h in holders)
        assert any(re.match(r'global int \(\*grid\[\]\)\[3\] \(typed.c:\d+\) in typed$', h) for h in holders)


def test_a_saved_trace_keeps_who_holds(tmp_path):
    program = build(tmp_path, 'gcc', '-O0', 'typed.c', '-g', '-Dpause=getpid')
    done = harness.run([harness.SEEP, 'run', '-q', '-o', str(tmp_path / 'left.seep'), str(program)])
    assert done.code == 0, done
    report = report_json.loads(seep('report', '--json', '--top', '0', str(tmp_path / 'left.seep')).out)
    assert told(report)[1112] == 'global struct user *config.users[2] > (struct user) [1].extra.cookie'


def of_stack(text):
    """The notation of typed_stack.c."""
    text = re.sub(r'^stack of thread \d+ in (\w+) \(typed_stack\.c:\d+\): (.*?) \(typed_stack\.c:\d+\)', r'\1 \2', text or '')
    return re.sub(r' -> block of \d+ B( \(.*?\))? from make \(typed_stack\.c:\d+\) (?=[\[.+])', r' >\1 ', text)


@pytest.mark.parametrize('compiler', ['gcc', 'clang'])
@pytest.mark.parametrize('level', ['-O0', '-O2'])
def test_local_variables_of_a_thread(tmp_path, compiler, level):
    """Also those that are in a register, which a function further in has saved."""
    with Traced(build(tmp_path, compiler, level, 'typed_stack.c', '-g'), cwd=tmp_path) as program:
        sites = scan_json(program.pid, '--top', '0')['sites']
        found = {s['live_bytes']: of_stack(s['held_by']) for s in sites}
        wanted = dict(re.findall(r'// TYPED: (\d+) (.*)', (HERE / 'typed_stack.c').read_text()))
        if level == '-O2':  # it was handed on, and who has it further out is not said to be a variable any more
            assert found.get(1064) in (wanted.pop('1064'), 'in_registers struct job *above', 'in_memory struct job *above')
        assert {size: found.get(int(size)) for size in wanted} == wanted
        assert {s['live_bytes']: s.get('type') for s in sites}[1032] == 'struct node'


def test_stacks_without_debug_information_have_their_functions(tmp_path):
    with Traced(build(tmp_path, 'gcc', '-O0', 'typed_stack.c'), cwd=tmp_path) as program:
        held = {s['live_bytes']: s['held_by'] for s in scan_json(program.pid, '--top', '0')['sites']}
        assert re.match(r'stack of thread \d+ in in_memory$', held[1032])
    with Traced(build(tmp_path, 'gcc', '-O0', 'typed_stack.c', '-s'), cwd=tmp_path) as program:
        held = {s['live_bytes']: s['held_by'] for s in scan_json(program.pid, '--top', '0')['sites']}
        assert re.match(r'stack of thread \d+$', held[1032])


def test_a_saved_trace_keeps_the_frames(tmp_path):
    with Traced(build(tmp_path, 'gcc', '-O2', 'typed_stack.c', '-g'), cwd=tmp_path) as program:
        done = seep('scan', str(program.pid), '-o', str(tmp_path / 'scanned.seep'))
        assert done.code == 0, done
    report = report_json.loads(seep('report', '--json', '--top', '0', str(tmp_path / 'scanned.seep')).out)
    held = {s['live_bytes']: of_stack(s['held_by']) for s in report['sites']}
    assert held[1032] == 'in_memory struct node *job.nodes[2]'
