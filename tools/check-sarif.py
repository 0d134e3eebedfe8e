#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""make sarif: validates what `seep check --sarif` writes against the standard's own JSON schema.

No package of the distribution has the schema. The npm package of the standard's validator does: 35 MB are fetched for that one
file, once for a build directory, which is why this is no part of make test (tests/cli/sarif.py is, the same rules in our words).
"""
import argparse
import copy
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = '@microsoft/sarif-multitool-linux@5.7.0'

LEAKY = '''
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char text[40]; };
void *volatile sink;
__attribute__((noinline)) static void leak(void) {
    struct node *one = malloc(sizeof(*one));
    one->next = malloc(sizeof(*one));
    memset(one->next, 0, sizeof(void *));
    sink = one;
    sink = 0;
}
int main(int argc, char **argv) {
    for (int i = 0; i < 9 && argc < 3; i++) leak();
    if (argc > 1) return atoi(argv[1]);
    return 0;
}
'''


def schema_of(folder):
    file = folder / 'sarif-2.1.0.json'
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(['npm', 'pack', '--silent', '--pack-destination', '.', PACKAGE], cwd=folder, check=True,
                              stdout=subprocess.PIPE, text=True)
        package = folder / done.stdout.split()[-1]
        with tarfile.open(package) as tar:
            file.write_bytes(tar.extractfile('package/sarif-2.1.0.json').read())
        package.unlink()
    return json.loads(file.read_text(encoding='utf-8'))


def spoiled(log):
    """Logs that are wrong in one place each: a validator that takes them sees nothing."""
    for change in (lambda run: run.update(laps=[]), lambda run: run['tool']['driver'].pop('name'),
                   lambda run: run['results'][0].update(level='bad'), lambda run: run['results'][0].pop('message')):
        other = copy.deepcopy(log)
        change(other['runs'][0])
        yield other


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--build', type=Path, default=Path('build'))
    options = parser.parse_args()
    import jsonschema  # python3-jsonschema: see install-deps.sh
    schema = schema_of(options.build / 'sarif')
    validator = jsonschema.validators.validator_for(schema)(schema)
    seep = options.build.resolve() / 'seep'
    nr_wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / 'leaky.c').write_text(LEAKY, encoding='utf-8')
        subprocess.run(['gcc', '-g', '-O0', '-w', 'leaky.c', '-o', 'leaky'], cwd=folder, check=True)
        subprocess.run([seep, 'check', '--baseline', 'known.txt', '--update-baseline', './leaky'], cwd=folder, check=False,
                       stderr=subprocess.DEVNULL)
        log = None
        for arguments in (['./leaky'], ['./leaky', '0', 'none'], ['./leaky', '3'], ['--max-peak', '1', './leaky'],
                          ['--max-allocations', '1', './leaky'], ['--sample', '1K', './leaky'],
                          ['--baseline', 'known.txt', './leaky'], ['sh', '-c', './leaky; ./leaky'], ['/sbin/ldconfig', '-p']):
            subprocess.run([seep, 'check', '--sarif', 'out.sarif', *arguments], cwd=folder, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            found = json.loads((folder / 'out.sarif').read_text(encoding='utf-8'))
            (folder / 'out.sarif').unlink()
            errors = [f'{"/".join(map(str, e.absolute_path))}: {e.message[:200]}' for e in validator.iter_errors(found)]
            nr_wrong += len(errors)
            print(f'{len(found["runs"][0]["results"]):3} results, {len(errors)} errors   seep check {" ".join(arguments)}')
            for error in errors:
                print('    ' + error)
            log = log or found
        nr_missed = sum(validator.is_valid(other) for other in spoiled(log))
    if nr_missed:
        print(f'{nr_missed} of the wrong files were taken: this validator checks nothing')
    return 1 if nr_wrong or nr_missed else 0


if __name__ == '__main__':
    sys.exit(main())
