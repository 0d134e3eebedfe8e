# SPDX-License-Identifier: BSD-2-Clause
"""Programs of runtimes that manage memory, stacks or code themselves: Go with and without C, Rust, Java, JavaScript. They do
what they do untraced; what of them comes by malloc is counted, and what does not is said."""
import os
import shutil
from pathlib import Path

import pytest
from harness import BUILD, environment, no_losses, run, traced
from small_programs import program_source

COVERS = [
    ('Go and Rust programs with cgo', 'covered', 'test_go_with_c', 'its C code: counts; a note says that the heap of Go is its own'),
    ('Go and Rust programs with cgo', 'declared', 'test_go_with_c',
     "stacks end where Go switches to the system's stack, and are counted as cut"),
    ('Go and Rust programs with cgo', 'declared', 'test_go_alone', 'a static Go program is not traced; the report says why'),
    ('Go and Rust programs with cgo', 'covered', 'test_rust', 'the system allocator, panics, aligned blocks'),
    ('the JVM', 'covered', 'test_java', 'native code and the runtime itself; the Java heap is among the mappings'),
    ('JIT (node)', 'covered', 'test_javascript', 'stacks go through code that was made at run time'),
    ('JIT (node)', 'covered', 'test_names_of_javascript', 'with the names that the program writes for perf (node --perf-basic-prof)'),
]


PATH = f"{os.environ.get('PATH', '')}:/usr/local/go/bin:{Path.home()}/.cargo/bin"


def compiler(*names):
    """The first of these commands, wherever the user has it."""
    for name in names:
        if path := shutil.which(name, path=PATH):
            return path
    pytest.skip(f'{names[0]} is not installed')


def build(command, folder, **more):
    env = {**os.environ, 'GOCACHE': str(BUILD / 'go-cache'), 'GOFLAGS': '-mod=mod', **more}
    done = run(command, env=env, cwd=folder, timeout=300)
    assert done.code == 0, done


def same(args, tmp_path, **more):
    plain = run(args, **more)
    under = traced(args, tmp_path, **more)
    assert (under.code, under.out, under.err) == (plain.code, plain.out, plain.err), (plain, under)
    process = under.report()[0]
    assert process['process']['exit'] == {'code': plain.code}
    return process


def through(process, name):
    return [s for s in process['sites'] if any(name in (f['function'] or '') for f in s['stack'])]


def figures(sites):
    return sum(s['allocations'] for s in sites), sum(s['live_blocks'] for s in sites), sum(s['live_bytes'] for s in sites)


GO = r'''
package main

%s
import ("fmt"; "os"; "sync")

func main() {
	var group sync.WaitGroup
	held := make([][]byte, 0)
	for g := 0; g < 4; g++ {
		group.Add(1)
		go func() { defer group.Done(); work(100) }()
	}
	group.Wait()
	for i := 0; i < 1000; i++ { held = append(held, make([]byte, 10000)) }
	fmt.Println("done", len(held))
	os.Exit(3)
}
'''
IMPORT_C = program_source('runtimes_import_c.c')
WORK = r'''
func work(n int) {
	for i := 0; i < n; i++ {
		p := C.c_alloc(48)
		if i % 2 == 1 { C.c_free(p) }
	}
}
'''


def test_go_with_c(tmp_path):
    go = compiler('go')
    compiler('gcc')
    (tmp_path / 'p.go').write_text(GO % IMPORT_C + WORK)
    build([go, 'build', '-o', 'p', 'p.go'], tmp_path, CGO_ENABLED='1')
    process = same([tmp_path / 'p'], tmp_path)
    no_losses(process)
    assert figures(through(process, 'c_alloc')) == (400, 200, 9600)
    assert [n for n in process['health']['notes'] if 'has a Go runtime' in n and 'runtime/pprof' in n]
    assert set(process['health']['cut']) <= {'no_cfi'}


def test_go_alone(tmp_path):
    go = compiler('go')
    (tmp_path / 'p.go').write_text(GO % '' + 'func work(n int) {}\n')
    build([go, 'build', '-o', 'p', 'p.go'], tmp_path, CGO_ENABLED='0')
    process = same([tmp_path / 'p'], tmp_path)
    assert not process['health']['complete'] and process['health']['events'] == 0
    (note,) = [n for n in process['health']['notes'] if 'static' in n]
    assert 'Go' in note and 'runtime/pprof' in note


RUST = r'''
use std::alloc::{alloc, dealloc, Layout};
use std::collections::HashMap;
use std::thread;

// As std::hint::black_box, which rustc has from 1.66 on.
fn kept<T>(value: T) -> T { let read = unsafe { std::ptr::read_volatile(&value) }; std::mem::forget(value); read }
#[inline(never)]
fn leak_boxes(n: usize) {
    for i in 0..n { std::mem::forget(kept(Box::new([i as u8; 77]))); }
}
#[inline(never)]
fn grow_vector() -> usize {
    let mut v: Vec<u64> = Vec::new();
    for i in 0..1000 { v.push(i); }
    v.iter().map(|x| (x & 1) as usize).sum()
}
#[inline(never)]
fn aligned() {
    let l = Layout::from_size_align(100, 256).unwrap();
    for i in 0..10 {
        let p = kept(unsafe { alloc(l) });
        assert!(p as usize % 256 == 0);
        if i % 2 == 0 { unsafe { dealloc(p, l) } }
    }
}
#[inline(never)]
fn in_thread(i: usize) -> usize {
    let mut m = HashMap::new();
    for k in 0..100 { m.insert(k, format!("value {}", k * i)); }
    m.len()
}
#[inline(never)]
fn panics() { let held = vec![1u8; 500]; if held.len() == 500 { panic!("over"); } }

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    leak_boxes(50);
    let n = grow_vector();
    aligned();
    let threads: Vec<_> = (0..4).map(|i| thread::spawn(move || in_thread(i))).collect();
    let sum: usize = threads.into_iter().map(|t| t.join().unwrap()).sum();
    println!("{} {} {}", n, sum, std::panic::catch_unwind(panics).is_err());
    std::process::exit(5);
}
'''


def test_rust(tmp_path):
    rustc = compiler('rustc')
    (tmp_path / 'p.rs').write_text(RUST)
    build([rustc, '-g', '-O', 'p.rs', '-o', 'p'], tmp_path)
    process = same([tmp_path / 'p'], tmp_path)
    no_losses(process)
    assert process['health']['complete'] and process['health']['stacks_cut'] == 0
    assert figures(through(process, 'p::leak_boxes')) == (50, 50, 3850)
    assert figures(through(process, 'p::aligned')) == (10, 5, 500)
    assert {s['via'] for s in through(process, 'p::aligned')} <= {'posix_memalign', 'aligned_alloc'}
    assert figures(through(process, 'p::grow_vector'))[1:] == (0, 0)
    values = [s for s in through(process, 'p::in_thread')]
    assert figures(values)[0] >= 400 and figures(values)[1] == 0
    assert figures(through(process, 'p::panics'))[1] == 0


JAVA = r'''
import java.util.*;
import java.util.zip.*;

public class P {
    static void compress(int n, List<Deflater> kept) {
        byte[] out = new byte[2000];
        for (int i = 0; i < n; i++) {
            Deflater d = new Deflater();
            d.setInput(new byte[1000]);
            d.finish();
            d.deflate(out);
            if (i % 2 == 0) d.end(); else kept.add(d);
        }
    }
    public static void main(String[] args) throws Exception {
        List<byte[]> held = new ArrayList<>();
        List<Deflater> kept = new ArrayList<>();
        for (int i = 0; i < 1000; i++) held.add(new byte[10000]);
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++) {
            threads[i] = new Thread(() -> { for (int k = 0; k < 1000; k++) new Object(); });
            threads[i].start();
        }
        for (Thread t : threads) t.join();
        compress(100, kept);
        System.out.println(held.size() + " " + kept.size());
        Runtime.getRuntime().halt(4);
    }
}
'''


def test_java(tmp_path):
    java, javac = compiler('java'), compiler('javac')
    (tmp_path / 'P.java').write_text(JAVA)
    build([javac, 'P.java'], tmp_path)
    process = same([java, '-Xmx64m', '-XX:+UseSerialGC', '-Xshare:auto', '-cp', tmp_path, 'P'], tmp_path)
    no_losses(process)
    states = [s for s in through(process, 'Java_java_util_zip_Deflater_init') if (s['stack'][0]['function'] or '') != 'Deflater']
    first = [s for s in states if s['size_min'] == s['size_max']]
    assert first and all(s['live_blocks'] == 50 for s in first if s['allocations'] == 100)
    assert any(s['allocations'] == 100 for s in first)
    # The heap of Java: one reservation of the size that was asked for.
    assert process['mappings']['totals']['mapped_bytes'] >= 64 << 20
    assert set(process['health']['cut']) <= {'no_cfi'}


JAVASCRIPT = r'''
function grow(n) { const kept = []; for (let i = 0; i < n; i++) kept.push(Buffer.alloc(5003, i)); return kept; }
let t = 0;
for (let i = 0; i < 20000; i++) t += i % 7;  // hot enough to be compiled
const kept = grow(500);
console.log(kept.length, t);
process.exitCode = 3;
'''


def test_javascript(tmp_path):
    node = compiler('node', 'nodejs')
    (tmp_path / 'p.js').write_text(JAVASCRIPT)
    process = same([node, tmp_path / 'p.js'], tmp_path)
    no_losses(process)
    buffers = [s for s in process['sites'] if s['size_min'] == s['size_max'] == 5003]
    assert sum(s['allocations'] for s in buffers) == 500
    assert {f['module'] for s in buffers for f in s['stack']} >= {'[jit]'}
    assert all(s['stack'][-1]['function'] in ('_start', None) for s in buffers if not s['cut'])


def test_names_of_javascript(tmp_path):
    """By /tmp/perf-PID.map, which compilers write for perf."""
    node = compiler('node', 'nodejs')
    (tmp_path / 'p.js').write_text(JAVASCRIPT.replace('grow(500)', '[]; for (let j = 0; j < 3000; j++) kept.push(grow(2))'))
    under = traced([node, '--perf-basic-prof', tmp_path / 'p.js'], tmp_path, cwd=tmp_path)  # it leaves a log there
    assert (under.code, under.err) == (3, b''), under
    names = set()
    try:
        process = under.report()[0]
        for site in process['sites']:
            names |= {f['function'] for f in site['stack'] if f['module'] == '[jit]' and f['function']}
    finally:
        for trace in Path('/tmp').glob(f"perf-{process['process']['pid']}.map"):
            trace.unlink()
    assert [n for n in names if 'grow' in n and 'p.js:2' in n], sorted(names)[:20]
    # The file is gone: the frames stay, without names.
    process = under.report()[0]
    assert {f['function'] for s in process['sites'] for f in s['stack'] if f['module'] == '[jit]'} == {None}
