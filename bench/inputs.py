# SPDX-License-Identifier: BSD-2-Clause
"""Inputs of the real programs: made here, the same on every machine, so that outputs can be compared."""
import json
import os
import random
import subprocess

import common


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def words(generator, count):
    return " ".join("".join(generator.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(generator.randint(2, 9)))
                    for _ in range(count))


def sql(path):
    return write(path, """
create table item(id integer primary key, name text, kind int, price real);
create table sale(id integer primary key, item int, day int, amount int);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
  insert into item select i, 'item ' || (i * 7919 % 20011), i % 97, i * 3 % 1000 / 10.0 from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 120000)
  insert into sale select i, i * 7 % 20000 + 1, i % 365, i % 13 from n;
create index sale_item on sale(item);
select kind, count(*), sum(amount * price) from sale join item on item.id = sale.item group by kind order by kind;
select name, group_concat(day) from sale join item on item.id = item where item % 50 = 0 group by name order by name;
select upper(substr(name, 1, 6)) || '-' || kind, count(distinct price) from item group by 1 order by 2 desc, 1 limit 50;
select count(*) from (select replace(name, 'item', printf('%08d', id)) x from item order by x);
""")


def records(path):
    generator = random.Random(1)
    return write(path, json.dumps([
        {"id": i, "kind": "k%d" % generator.randrange(50), "value": generator.randrange(1000),
         "tags": words(generator, 4).split(), "inner": {"text": words(generator, 3), "flag": i % 3 == 0}}
        for i in range(16000)]))


def python_script(path):
    return write(path, """
import collections, json, re
class Node:
    def __init__(self, key, left, right):
        self.key, self.left, self.right = key, left, right
def tree(depth, key=1):
    return None if depth == 0 else Node(key, tree(depth - 1, 2 * key), tree(depth - 1, 2 * key + 1))
def total(node):
    return 0 if node is None else node.key % 1000 + total(node.left) + total(node.right)
counts = collections.Counter()
for turn in range(3):
    counts['tree'] += total(tree(14))
    rows = [{'id': i, 'name': 'n%d' % (i * 31 % 977), 'values': [i, i + 1.5, str(i)]} for i in range(12000)]
    text = json.dumps(rows)
    back = json.loads(text)
    counts.update(row['name'] for row in back)
    counts['match'] += len(re.findall(r'n[0-9]*7', text))
    counts['join'] += len('-'.join(sorted(row['name'] + str(row['id']) for row in back)))
print(sorted(counts.items())[:200])
""")


def perl_script(path):
    return write(path, r"""
use strict; use warnings;
my (%count, @rows); my $state = 1;
for my $i (1 .. 90000) {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    my $line = join(',', $i, "name" . ($state % 5000), $state % 977, "text $state");
    my @fields = split /,/, $line;
    $count{$fields[1]}{$fields[2]}++;
    push @rows, { id => $fields[0], text => $fields[3] =~ s/(\d)(\d)/$2-$1/gr } if $i % 3 == 0;
}
my $sum = 0;
for my $name (sort keys %count) { $sum += $_ * 7 for values %{ $count{$name} }; $sum += length $name }
print "$sum ", scalar(@rows), " ", join('|', map { $_->{text} } sort { $a->{text} cmp $b->{text} } @rows[0 .. 2000]), "\n";
""")


def c_source(path, functions):
    """A preprocessed C file with loops, branches, structures and calls: work for an optimizer."""
    generator = random.Random(2)
    text = ["struct s { int a; long b; double c; struct s *next; unsigned char d[16]; };", "extern int out(const char *, ...);"]
    for i in range(functions):
        a, b, c = generator.randrange(1, 99), generator.randrange(1, 999), generator.randrange(2, 9)
        call = "f%d(p, n - %d, k + 1)" % (generator.randrange(i), c) if i else "n"
        text.append("""
long f%(i)d(struct s *p, long n, int k) {
    long sum = k * %(a)d;
    double x = %(b)d.5;
    for (long i = 0; i < n %% %(b)d; i++) {
        struct s *q = p->next ? p->next : p;
        q->d[i & 15] ^= (unsigned char)(sum >> %(c)d);
        x = x * 1.25 + q->c - (double)(i * k);
        if ((q->a & %(a)d) == 0) { q->b += i * %(c)d; sum ^= q->b; } else sum += q->d[(i + %(a)d) & 15];
        switch ((sum + i) & 7) { case 0: sum += %(b)d; break; case 1: sum *= 3; break; case 2: sum -= q->a; break;
            case 3: q->a = (int)sum; break; case 5: x += sum; break; default: sum ^= i << 2; }
    }
    if (k < 4 && n > %(a)d) sum += %(call)s;
    p->c = x;
    return sum + (long)x;
}""" % {"i": i, "a": a, "b": b, "c": c, "call": call})
    return write(path, "\n".join(text) + "\n")


def cxx_source(path):
    """A source with much of the standard library in it, preprocessed here by this machine's own g++."""
    source = write(path + ".cc", """
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>
template <int N> struct box { std::map<std::string, std::vector<int>> values; int get(const std::string &k) {
    auto &v = values[k]; v.push_back(N); std::sort(v.begin(), v.end(), std::greater<int>()); return v.front(); } };
int all(const std::string &k) { int s = 0; std::set<std::string> r{k}; s += (int)r.size();
    %s return s; }
""" % " ".join("{ static box<%d> b; s += b.get(k); std::function<int(int)> f = [&](int x) { return x + s; }; s = f(%d); }"
               % (i, i) for i in range(10)))
    text = subprocess.run([common.program("g++"), "-std=c++17", "-E", "-P", source], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    return write(path, text)


def smt(path, pigeons):
    """No `pigeons` pigeons fit in one hole less; and some arithmetic on bit vectors."""
    holes = pigeons - 1
    lines = ["(set-logic QF_BV)"]
    for p in range(pigeons):
        lines += ["(declare-const p%d_%d Bool)" % (p, h) for h in range(holes)]
        lines.append("(assert (or %s))" % " ".join("p%d_%d" % (p, h) for h in range(holes)))
    for h in range(holes):
        lines += ["(assert (or (not p%d_%d) (not p%d_%d)))" % (a, h, b, h)
                  for a in range(pigeons) for b in range(a)]
    lines += ["(check-sat)", "(reset)", "(set-logic QF_BV)"]
    lines += ["(declare-const x%d (_ BitVec 16))" % i for i in range(8)]
    lines += ["(assert (= (bvmul x%d x%d) (bvadd x%d #x%04x)))" % (i, i + 1, (i + 3) % 8, 0x1234 + i * 77)
              for i in range(7)]
    lines += ["(check-sat)"]
    return write(path, "\n".join(lines) + "\n")


def repository(path, commits):
    """A repository of `commits` commits over 150 files, by fast-import: the same ids everywhere."""
    generator = random.Random(3)
    files = {"src/d%d/f%d.c" % (i % 12, i): [words(generator, 8) for _ in range(60)] for i in range(150)}
    names = sorted(files)
    stream = []
    for number in range(commits):
        stamp = 1700000000 + number * 600
        stream.append("commit refs/heads/main\ncommitter A B <a@example.org> %d +0000\ndata 11\ncommit %04d" % (stamp, number % 9999))
        for name in names if number == 0 else generator.sample(names, 5):
            lines = files[name]
            for _ in range(6):
                lines[generator.randrange(len(lines))] = words(generator, 8)
            if generator.random() < 0.3:
                lines.insert(generator.randrange(len(lines)), words(generator, 5))
            text = "\n".join(lines) + "\n"
            stream.append("M 100644 inline %s\ndata %d\n%s" % (name, len(text), text))
    git = [common.program("git"), "-C", path]
    os.makedirs(path)
    environment = dict(common.clean_environment(), GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull)
    subprocess.run(git + ["init", "-q", "--bare", "-b", "main"], check=True, env=environment)
    subprocess.run(git + ["fast-import", "--quiet"], input="\n".join(stream).encode(), check=True, env=environment)
    return path
