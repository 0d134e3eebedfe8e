# SPDX-License-Identifier: BSD-2-Clause
"""docs/coverage.md is what the tests say: every line has a row, every row a test that exists, and the page is made of them."""
import importlib.util
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def generator():
    spec = importlib.util.spec_from_file_location("coverage_page", os.path.join(ROOT, "tools", "coverage.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_line_has_rows_and_every_row_a_test():
    _, troubles = generator().all_rows()
    assert troubles == []


def test_the_page_is_made_of_them():
    made = generator()
    rows, _ = made.all_rows()
    with open(made.PAGE, encoding="utf-8") as file:
        assert file.read() == made.page(rows), "run: /usr/bin/python3 tools/coverage.py --write"


def test_a_wrong_row_is_found(tmp_path, monkeypatch):
    """The check itself: each kind of mistake in a row has its words."""
    made = generator()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text(
        "COVERS = [('fork', 'covered', 'test_a', ''), ('no line', 'covered', 'test_a', ''), ('vfork', 'wrong', 'test_a', ''),\n"
        "          ('chroot', 'covered', 'test_b', ''), ('scripts', 'declared', 'test_a', ''),\n"
        "          ('musl', 'covered', 'test_a[none]', '')]\n"
        "def test_a(): pass\n")
    monkeypatch.setattr(made, "ROOT", tmp_path)
    monkeypatch.setattr(made, "ELSEWHERE", [])
    rows, troubles = made.all_rows()
    assert rows == {"fork": [("covered", "tests/test_one.py", "test_a", "")]}
    found = [t for t in troubles if not t.startswith("no test has a row")]
    assert [t.split(": ", 1)[1] for t in found] == [
        "no such line: 'no line'", "no such status: 'wrong'", "no such test: 'test_b'",
        "'scripts' is declared without a reason", "no such program: 'none'"]
    assert len(troubles) == len(found) + sum(map(len, made.AREAS.values())) - 1
