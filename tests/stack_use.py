#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How many bytes of stack the functions of a library need, with all that they call in it: from its machine code, so of
any compiler. `stack_use.py LIBRARY [FUNCTION...]` prints the deepest path of each. x86-64 and 32-bit ARM.

A call through a pointer counts only as itself: what is called is not of this library. A jump to another function
leaves the frame before it."""
import re
import subprocess
import sys

# What a hook may need.
MOST_BYTES = 2176  # gcc 12 needs 2,136, gcc 14 needs 2,152

WORDS_OF_ARM = {'s': 4, 'd': 8, 'q': 16}
FUNCTION = re.compile(r'^([0-9a-f]+) <([^>]+)>:$')
INSTRUCTION = re.compile(r'^ *([0-9a-f]+):\t(\S+)\s*(.*)$')
TARGET = re.compile(r'(?:^|[ ,])(?:0x)?([0-9a-f]+) <([^>+]+)(\+0x[0-9a-f]+)?>')
# What a function that calls none keeps below its stack pointer: x86-64 has 128 bytes for it.
BELOW = re.compile(r'-(0x[0-9a-f]+)\(%(rsp|rbp)[,)]')
ENDS_X86 = ('ret', 'retq', 'jmp', 'jmpq', 'ud2', 'hlt')
ENDS_ARM = ('b', 'bx', 'udf')


def number(text):
    return int(text, 0)


def effect_x86(op, operands, depth):
    """How deep the stack is after the instruction. After `leave` only the return address is left, which is 8 bytes."""
    if op.startswith('push'):
        return depth + 8
    if op.startswith('pop'):
        return depth - 8
    if op.startswith('leave'):
        return 8
    found = re.match(r'\$(-?0x[0-9a-f]+),%rsp$', operands)
    if found and op[:3] in ('sub', 'add'):
        return depth + number(found[1]) * (1 if op.startswith('sub') else -1)
    if found and op.startswith('and'):
        return depth + 8  # the stack was a word off
    found = re.match(r'(-?0x[0-9a-f]+)?\(%(rsp|rbp|r10)\),%rsp$', operands)
    if found and op.startswith('lea'):
        distance = -number(found[1] or '0')
        return {'rsp': depth, 'rbp': 16, 'r10': 0}[found[2]] + distance
    return depth


def registers_of_arm(operands):
    total = 0
    for part in re.search(r'\{([^}]*)\}', operands)[1].split(','):
        part = part.strip()
        first, _, last = part.partition('-')
        width = WORDS_OF_ARM.get(first[0], 4) if re.match(r'[sdq]\d+$', first) else 4
        count = int(re.sub(r'\D', '', last)) - int(re.sub(r'\D', '', first)) + 1 if last else 1
        total += width * count
    return total


def effect_arm(op, operands, depth):
    base = op.split('.')[0]
    if re.match(r'v?push$', base) or (re.match(r'v?stmdb$', base) and operands.startswith('sp!')):
        return depth + registers_of_arm(operands)
    if re.match(r'v?pop$', base) or (re.match(r'v?ldmia$', base) and operands.startswith('sp!')):
        return depth - registers_of_arm(operands)
    found = re.match(r'sp(?:, sp)?, #(\d+)', operands)
    if found and re.match(r'(sub|add)w?$', base):
        return depth + int(found[1]) * (1 if base.startswith('sub') else -1)
    found = re.search(r'\[sp, #(-?\d+)\]!', operands) or re.search(r'\[sp\], #(-?\d+)', operands)
    return depth - int(found[1]) if found else depth


class Library:
    """`calls`: of each function, by its address, the depth of its frame at each call, and what is called."""

    def __init__(self, path):
        plain = {'env': {'LC_ALL': 'C', 'PATH': '/usr/bin:/bin'}, 'capture_output': True, 'text': True, 'check': True}
        machine = re.search(r'Machine: +(.*)', subprocess.run(['readelf', '-h', path], **plain).stdout)[1]
        self.is_arm = machine == 'ARM'
        if not self.is_arm and 'X86-64' not in machine:
            raise ValueError(f'{path}: a library for {machine}')
        self.path, self.names, self.frames, self.calls, self.memo = path, {}, {}, {}, {}
        tool = 'arm-linux-gnueabihf-objdump' if self.is_arm else 'objdump'
        code = subprocess.run([tool, '-d', '--no-show-raw-insn', '-w', path], **plain).stdout
        start = None
        for line in code.splitlines():
            if found := FUNCTION.match(line):
                start = int(found[1], 16)
                self.names[start] = found[2]
                self.begin(start)
            elif start is not None and (found := INSTRUCTION.match(line)):
                self.read(start, int(found[1], 16), found[2], found[3])

    def begin(self, start):
        self.return_bytes = 0 if self.is_arm else 8
        self.depth, self.labels = self.return_bytes, {}
        self.frames[start], self.calls[start] = self.depth, set()

    def read(self, start, address, op, operands):
        self.depth = self.labels.get(address, self.depth)
        base = op.split('.')[0]
        target = TARGET.search(operands)
        place = target and int(target[1], 16)
        is_call = op.startswith('call') if not self.is_arm else re.match(r'blx?$', base)
        is_jump = not is_call and re.match(r'cbn?z|b(?!kpt|ic|f[ci]|x)' if self.is_arm else 'j', op)
        within = target and target[2] == self.names[start]
        if target and is_call:
            self.calls[start].add((self.depth, place))
        elif target and is_jump and within:
            self.labels.setdefault(place, self.depth)
        elif target and is_jump:
            self.calls[start].add((self.depth - self.return_bytes, place - int(target[3] or '0', 16)))
        if self.is_arm and base in ('pop', 'ldmia') and 'pc' in operands or base in (ENDS_ARM if self.is_arm else ENDS_X86):
            return  # what comes next is known by a jump to it, or as deep as this was
        self.depth = (effect_arm if self.is_arm else effect_x86)(op, operands.split('#')[0].strip() if not self.is_arm else operands, self.depth)
        self.frames[start] = max(self.frames[start], self.depth)

        if not self.is_arm:
            for distance, register in BELOW.findall(operands):
                self.frames[start] = max(self.frames[start], number(distance) + (self.depth if register == 'rsp' else 16))

    def deepest(self, start, path=()):
        """(bytes, the path as pairs of a name and the bytes of its frame at the call)"""
        if start in self.memo:
            return self.memo[start]
        name = self.names.get(start)
        if name is None or start in path:
            return 0, ()
        best = self.frames[start], ((name, self.frames[start]),)
        for depth, callee in self.calls[start]:
            below, rest = self.deepest(callee, (*path, start))
            if depth + below > best[0]:
                best = depth + below, ((name, depth), *rest)
        self.memo[start] = best
        return best

    def place(self, name):
        return next(start for start, found in self.names.items() if found == name)

    def deepest_by_name(self, name):
        return self.deepest(self.place(name))


def hooks_that_need_more(library, most):
    """(bytes, path) of each exported function that needs more than `most`."""
    lines = subprocess.run(['nm', '-D', '--defined-only', library.path], capture_output=True, text=True, check=True).stdout.splitlines()
    hooks = {line.split()[-1].split('@')[0] for line in lines} & set(library.names.values())
    assert {'malloc', 'realloc', 'free', 'mmap', 'execve'} <= hooks
    deepest = (library.deepest_by_name(name) for name in sorted(hooks))
    return [found for found in deepest if found[0] > most]


def main():
    library = Library(sys.argv[1])
    for name in sys.argv[2:] or ['malloc', 'realloc', 'free']:
        total, path = library.deepest_by_name(name)
        print(f'{name}: {total} bytes\n    ' + ' > '.join(f'{function} {depth}' for function, depth in path))


if __name__ == '__main__':
    main()
