# SPDX-License-Identifier: BSD-2-Clause
"""Where tests repeat the wording of seep's messages: NR words of a string literal of src, in the same order, in a string of a test.

`python3 tests/lint/wording.py` lists the messages that more than one place of the tests repeats. A place is a literal; all golden
files are one, because SEEP_GOLDEN_WRITE writes them.
"""
import ast
import collections
import functools
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NR = 4  # words in a row, two of them of more than three letters
GOLDEN = "tests/golden/*.txt"
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\w+|\s+|.', re.S)
# A value or a name stands for a word that is not compared.
VALUE = re.compile(r"\\[dwsSWD][+*?]*|\[[^\]]*\][+*]|\.[*+]\??|%%?[-+ #0']*(?:\*|\d+)?(?:\.(?:\*|\d+)?)?(?:hh|h|ll|l|z|j|t)?[a-zA-Z%]|\x01|\{[^}]*\}|[\w.*]*[/_=*][\w./=*-]*|\w*\d[\w.]*")
WORD = re.compile(r"\x01|(?:--[a-z])?[A-Za-z]+(?:['’-][A-Za-z]+)*")
Place = collections.namedtuple("Place", "path line")


def words(text):
    return WORD.findall(VALUE.sub(" \x01 ", text))


def runs(text):
    """(position, run) of each NR words in a row."""
    found = words(text)
    for i in range(len(found) - NR + 1):
        run = tuple(found[i:i + NR])
        if "\x01" not in run and sum(len(word) > 3 for word in run) > 1:
            yield i, run


def unescaped(literal):
    return re.sub(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)", lambda match: '"' if match[1] == '"' else "'" if match[1] == "'" else " ", literal[1:-1], flags=re.S)


def literals_of_c(text):
    """(line, literal), adjacent ones joined; a macro between two, as PRIu64, stands for a value."""
    line, start, parts, macro = 1, 0, [], False
    for token in (match[0] for match in TOKEN.finditer(text)):
        if token.startswith('"'):
            start = start if parts else line
            parts.append((" \x01 " if macro else "") + unescaped(token))
            macro = False
        elif parts and not token.isspace() and not token.startswith(("//", "/*")):
            if re.fullmatch(r"[A-Z]\w*", token) and not macro:
                macro = True
            else:
                yield start, "".join(parts)
                parts, macro = [], False
        line += token.count("\n")


def name_of(node):
    """The last word of the called name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def literals_of_python(text):
    """(line, literal) of each string that can decide whether a test passes."""
    tree = ast.parse(text)
    others = set()
    for node in ast.walk(tree):
        first = node.body[0] if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and node.body else None
        no_matter = [first] if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else []
        if isinstance(node, ast.Assert) and node.msg:
            no_matter.append(node.msg)
        elif isinstance(node, ast.Call) and name_of(node.func) in ("skip", "fail", "skipif"):
            no_matter.append(node)
        elif isinstance(node, ast.Raise) or isinstance(node, ast.keyword) and node.arg in ("help", "description", "reason"):
            no_matter.append(node)
        elif isinstance(node, ast.Assign) and name_of(node.targets[0]) == "COVERS":
            no_matter.append(node)
        others.update(id(inner) for outer in no_matter for inner in ast.walk(outer))
        if isinstance(node, ast.JoinedStr):
            others.update(map(id, node.values))
    for node in ast.walk(tree):
        if id(node) in others:
            continue
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else " \x01 " for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            yield node.lineno, node.value if isinstance(node.value, str) else node.value.decode("utf-8", "replace")


@functools.lru_cache(None)
def files(*patterns):
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode()
    texts = {}
    for path in filter(None, listed.split("\0")):
        if os.path.exists(os.path.join(ROOT, path)):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                texts[path] = file.read()
    return texts


def is_message(literal):
    """Not an example of a command line, a query, or a suppression."""
    return not re.match(r"(sudo )?seep |operator |\{|\s*(select|create|with) |#|fun:", literal)


@functools.lru_cache(None)
def texts_of_src():
    """The words of each literal, between blanks."""
    return [" %s " % " ".join(words(literal)) for text in files("src/*.c", "src/*.h").values() for _, literal in literals_of_c(text)]


def messages():
    """{(path, line): literal} of src with a run, but for libc's words."""
    return {Place(path, line): literal for path, text in files("src/*.c", "src/*.h").items() for line, literal in literals_of_c(text)
            if path != "src/host/agent/small_strerror.c" and is_message(literal) and any(True for _ in runs(literal))}


def agree(mine, theirs):
    """Whether what comes next to equal words can be the same: an end, or a value in the message."""
    return None in (mine, theirs) or theirs == "\x01"


def matches(literal, where, text):
    """{message: its longest run} for each message that can be what the literal stands for, or a part of it; those of which another
    message has more words are left out. `where`: run -> (message, position); `text`: message -> its words."""
    found, spans = words(literal), collections.defaultdict(set)
    for i, run in runs(literal):
        for message, at in where.get(run, ()):
            theirs, first, last = text[message], i, i + NR
            while first > 0 and at > 0 and found[first - 1] == theirs[at - 1] != "\x01":
                first, at = first - 1, at - 1
            end = at + last - first
            while last < len(found) and end < len(theirs) and found[last] == theirs[end] != "\x01":
                last, end = last + 1, end + 1
            if agree(found[first - 1] if first else None, theirs[at - 1] if at else None) and \
                    agree(found[last] if last < len(found) else None, theirs[end] if end < len(theirs) else None):
                spans[first, last].add(message)
    result = {}
    for (first, last), named in spans.items():
        if not any(other[0] <= first and last <= other[1] and other != (first, last) for other in spans):
            result.update({message: " ".join(found[first:last]) for message in named})
    return result


def index_of(texts):
    where = collections.defaultdict(set)
    for message, literal in texts.items():
        for i, run in runs(literal):
            where[run].add((message, i))
    return where, {message: words(literal) for message, literal in texts.items()}


def matches_of(literal, message):
    return matches(literal, *index_of({0: message}))


def said_in_tests(patterns=("tests/*.py", "tests/*.c")):
    """{message: {place: the words}} of what the tests say."""
    index = index_of(messages())
    said = collections.defaultdict(dict)
    for path, text in files(*patterns).items():
        if path.startswith("tests/lint/"):
            continue
        for line, literal in (literals_of_python if path.endswith(".py") else literals_of_c)(text):
            for message, run in matches(literal, *index).items() if is_message(literal) else ():
                said[message][Place(path, line)] = run
    for path, text in files(GOLDEN).items():
        for message, run in matches(text, *index).items():
            said[message][Place(GOLDEN, 0)] = run
    return said


def main():
    patterns = sys.argv[1:] or ("tests/*.py", "tests/*.c")
    said, text = said_in_tests(tuple(patterns)), messages()
    many = {message: places for message, places in said.items() if len(places) > 1}
    for message, places in sorted(many.items()):
        print("%s:%d: %r" % (*message, text[message][:300]))
        for place, run in sorted(places.items()):
            print("    %s:%d: %s" % (*place, run))
    print("%d messages, %d in tests, %d in more than one place" % (len(text), len(said), len(many)))


if __name__ == "__main__":
    main()
