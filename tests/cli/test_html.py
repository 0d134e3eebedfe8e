# SPDX-License-Identifier: BSD-2-Clause
"""seep html: wrong use, where the page goes, full disks. What is on the page is in tests/web."""
import os

import pytest


@pytest.fixture
def trace(root):
    return os.path.join(root, "tests", "golden", "v1-tiny.seep")


def test_html_needs_a_file_for_the_page(run, seep, trace):
    done = run(seep, "html", trace)
    assert done.returncode == 2 and "no file for the page" in done.stderr and "-o page.html" in done.stderr


def test_page_goes_to_standard_output(run, seep, trace):
    done = run(seep, "html", trace, "-o", "-")
    assert done.returncode == 0 and done.stdout.startswith("<!DOCTYPE html>") and done.stdout.rstrip().endswith("</html>")


def test_no_half_page_stays(run, seep, trace, tmp_path):
    done = run(seep, "html", trace, "-o", "/dev/full")
    assert done.returncode == 1 and "cannot write /dev/full" in done.stderr
    done = run(seep, "html", trace, "-o", tmp_path / "no" / "page.html")
    assert done.returncode == 1 and "cannot" in done.stderr and "page.html" in done.stderr
    done = run("bash", "-c", "ulimit -f 8; trap '' XFSZ; exec '%s' html '%s' -o small.html" % (seep, trace))
    assert done.returncode == 1 and "small.html" in done.stderr and not list(tmp_path.glob("small*"))


def test_run_makes_a_page_too(run, seep, tmp_path):
    done = run(seep, "run", "-q", "-o", "x.seep", "--html", "page.html", "--", "/bin/true")
    assert done.returncode == 0 and not done.stderr
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and 'id="seep-sites">H4s' in page
    assert (tmp_path / "x.seep").exists()


def test_run_knows_at_once_that_there_is_no_place_for_the_page(run, seep, tmp_path):
    done = run(seep, "run", "-q", "--html", tmp_path / "no" / "page.html", "--", "/bin/touch", tmp_path / "ran")
    assert done.returncode != 0 and "no" in done.stderr and not (tmp_path / "ran").exists()


def test_bad_size_is_refused(run, seep, trace):
    done = run(seep, "html", trace, "-o", "page.html", "--max-size", "much")
    assert done.returncode == 2 and "--max-size" in done.stderr
