# SPDX-License-Identifier: BSD-2-Clause
"""The documents as a site: every link leads somewhere, nothing is asked of a network, every document and manual page is there."""
import html.parser
import os
import re
import subprocess
import urllib.parse

import pytest


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.ids, self.headings, self.scripts = [], [], set(), [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.ids.add(values["id"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in ("img", "link", "script"):
            self.loaded.append(values.get("src") or values.get("href") or "")
        self.scripts += tag == "script"
        if tag == "h1":
            self.headings.append(tag)


@pytest.fixture(scope="module")
def site(root, tmp_path_factory):
    import shutil
    for tool in ("lowdown", "mandoc"):
        if not shutil.which(tool):
            pytest.skip("%s is not installed" % tool)
    out = tmp_path_factory.mktemp("site")
    build = out / "build"
    (build / "web" / "shots").mkdir(parents=True)
    (build / "web" / "shots" / "light.png").write_bytes(b"a picture")
    done = subprocess.run([os.path.join(root, "tools", "site", "make_site.py"), str(out / "site"), str(build)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return str(out / "site")


@pytest.fixture(scope="module")
def pages(site):
    return {name: Page(open(os.path.join(site, name), encoding="utf-8").read()) for name in os.listdir(site) if name.endswith(".html")}


def test_every_link_resolves(site, pages):
    troubles, nr = [], 0
    for name, page in pages.items():
        for link in page.links + page.loaded:
            url = urllib.parse.urlsplit(link)
            if url.scheme in ("data", "https", "http"):
                assert link in page.links or url.scheme == "data", "%s loads %s" % (name, link)
                continue
            nr += 1
            target = urllib.parse.unquote(url.path) or name
            if not os.path.isfile(os.path.join(site, target)):
                troubles.append("%s: %s does not exist" % (name, link))
            elif url.fragment and urllib.parse.unquote(url.fragment) not in pages[target].ids:
                troubles.append("%s: %s has no such heading" % (name, link))
    assert not troubles and nr > 1000, "\n".join(troubles)


def test_every_document_is_a_page(root, site, pages):
    for name in os.listdir(os.path.join(root, "docs", "man")):
        assert "man-%s.html" % name.rpartition(".")[0] in pages
    for name in os.listdir(os.path.join(root, "docs")):
        if name.endswith(".md"):
            assert name[:-3] + ".html" in pages
    for name, page in pages.items():
        assert len(page.headings) == 1 and not page.scripts, name
    reached, todo = set(), ["index.html"]
    while todo:
        name = todo.pop()
        if name in reached or name not in pages:
            continue
        reached.add(name)
        todo += [urllib.parse.urlsplit(link).path for link in pages[name].links]
    assert reached == set(pages)


def test_questions_lead_to_manual_pages(site, pages):
    text = open(os.path.join(site, "commands.html"), encoding="utf-8").read()
    assert text.count("<tr>") > 20
    assert len(re.findall(r'href="man-seep-[a-z]+\.html"', text.partition("<main>")[2])) > 20
    assert os.path.exists(os.path.join(site, "shots", "light.png")) and "shots/light.png" in pages["screenshots.html"].loaded
