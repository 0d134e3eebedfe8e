# SPDX-License-Identifier: BSD-2-Clause
"""seep attach: code that goes, and other code that comes to its place. The unwinder keeps rows by address, and those of
code that is gone must go as well."""
from harness import need, report, run
from test_attach import Attached, can, hear, private, say  # noqa: F401 (fixtures)
from small_programs import program_source

# A frame of FRAME bytes, whose code has the same length whatever they are.
LIBRARY = r"""
__asm__(".text\n.globl through\n.type through,@function\nthrough:\n.cfi_startproc\n"
        ".byte 0x48,0x81,0xec\n.4byte FRAME\n" // sub $FRAME,%rsp
        ".cfi_def_cfa_offset FRAME+8\n"
        "call *%rdi\n"
        ".byte 0x48,0x81,0xc4\n.4byte FRAME\n"
        ".cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size through,.-through\n"
        ".section .note.GNU-stack,\"\"\n.text\n");
"""

PROGRAM = program_source('attach_reload_program.c')


def test_other_code_at_the_same_address(private, tmp_path):  # noqa: F811
    need('gcc')
    (tmp_path / 'program.c').write_text(PROGRAM)
    libraries = []
    for name, frame in (('small', 24), ('large', 1048)):
        libraries.append(tmp_path / (name + '.so'))
        done = run(['gcc', '-shared', '-fPIC', '-DFRAME=%d' % frame, '-x', 'c', '-', '-o', libraries[-1]],
                   input=LIBRARY.replace('FRAME', str(frame)).encode())
        assert done.code == 0, done
    done = run(['gcc', '-O2', '-fomit-frame-pointer', tmp_path / 'program.c', '-o', tmp_path / 'program', '-ldl'])
    assert done.code == 0, done
    program, trace = private(tmp_path / 'program', *libraries), tmp_path / 'reload.seep'
    attached = Attached('100ms', '-p', program.pid, '-o', '0', '--output', trace)
    for _ in range(6):
        for _ in range(3):  # reports: the tool has taken the news of modules then
            while b' stacks with outstanding allocations:' not in attached.process.stdout.readline():
                pass
        say(program)
        hear(program)
    attached.stop()
    process, = report(trace)
    assert process['health']['lost'] == {} and process['health']['stacks_cut'] == 0, process['health']
    seen = {}
    for site in process['sites']:
        names = [frame['function'] for frame in site['stack']]
        if names[0] == 'allocate':
            assert names[:4] == ['allocate', 'through', 'one', 'main'] and names[-1] == '_start', names
            module = site['stack'][1]['module'].split('/')[-1]
            seen[module] = seen.get(module, 0) + site['allocations']
    assert seen == {'small.so': 300, 'large.so': 300}, seen
