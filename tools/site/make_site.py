#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The documents as a site: make_site.py OUT [BUILD]. Needs lowdown and mandoc.

README.md, the documents of docs/ and the manual pages become pages of one folder that works from disk: no script, nothing
from a network. Pictures are those that the tests of the page leave in BUILD/web/shots; without them the site has none, and
says so here.
"""
import html
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))

# In the order of the navigation. What is in docs/ and not here comes last, under "More".
GROUPS = [
    ("Start", ["README.md", "commands", "screenshots", "docs/guides/README.md", "docs/coming-from.md", "CHANGELOG.md"]),
    ("Guides", ["docs/guides/find-a-leak.md", "docs/guides/cut-the-peak.md", "docs/guides/tame-churn.md", "docs/guides/watch-a-server.md",
                "docs/guides/gate-ci.md", "docs/guides/a-device.md", "docs/guides/a-container.md", "docs/guides/the-kernel.md"]),
    ("Use", ["docs/page.md", "docs/formats.md", "docs/scan.md", "docs/growth.md", "docs/top.md", "docs/connect.md", "docs/recording.md",
             "docs/replay.md", "docs/sql.md", "docs/attach.md", "docs/processes.md", "docs/service.md", "docs/ci.md", "docs/annotations.md"]),
    ("Trust", ["docs/coverage.md", "docs/security.md", "docs/leak-agreement.md", "docs/soak.md", "docs/performance.md",
               "docs/performance-table.md"]),
    ("Inside", ["docs/architecture.md", "docs/one-allocation.md", "docs/subsystems.md", "docs/hot-path.md", "docs/cpus.md",
                "docs/image-format.md", "docs/trace-format.md", "docs/protocol.md", "CONTRIBUTING.md"]),
]
TITLES = {"README.md": "What seep is", "commands": "Which command?", "screenshots": "Screenshots", "docs/guides/README.md": "All guides"}

# What the tests leave (tests/web/drive.mjs), and what one sees there.
SHOTS = [
    ("light", "The first screen: how far the figures can be trusted, totals, findings, the flame graph, the sites and the stack of one."),
    ("range", "Over time: a dragged range makes every view show what changed in it."),
    ("holders", "By holder: who holds memory, and what only that holds."),
    ("source", "Source with bytes by line, where it was asked for."),
    ("diff", "Two traces in one page: red grew, blue shrank."),
    ("dark", "In the dark."),
]
PHONES = [("phone", "On a phone."), ("lifetimes", "Lifetimes of freed blocks, from a recording."), ("folder", "A folder of traces, served.")]


def run(*command, text=None):
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("make_site.py: %s: %s" % (command[0], done.stderr.strip()))
    return done.stdout


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def name_of(path):
    """docs/guides/find-a-leak.md -> guides-find-a-leak.html; all pages lie in one folder."""
    if path == "README.md":
        return "index.html"
    if path == "docs/guides/README.md":
        return "guides.html"
    return re.sub(r"\.md$", "", re.sub(r"^docs/", "", path)).replace("/", "-").lower() + ".html"


class Site:
    def __init__(self, out, build):
        self.out, self.build = out, build
        self.pages = {}  # path in the project, or a word: (title, html)
        self.copied = set()
        self.manuals = sorted(name for name in os.listdir(os.path.join(ROOT, "docs", "man")))
        self.documents = [path for _, paths in GROUPS for path in paths if path.endswith(".md")]
        known = set(self.documents)
        more = ["docs/" + name for name in sorted(os.listdir(os.path.join(ROOT, "docs"))) if name.endswith(".md") and "docs/" + name not in known]
        self.groups = [(title, list(paths)) for title, paths in GROUPS]
        if more:
            self.groups.append(("More", more))
            self.documents += more

    def link(self, target, here):
        """A link of a document, as one of the site. What is no page is copied."""
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return target
        path, _, fragment = target.partition("#")
        place = os.path.normpath(os.path.join(os.path.dirname(here), path))
        fragment = "#" + fragment if fragment else ""
        if place in self.documents:
            return name_of(place) + fragment
        if not os.path.isfile(os.path.join(ROOT, place)):
            sys.exit("make_site.py: %s: %s leads nowhere" % (here, target))
        self.copied.add(place)
        return "files/" + place.replace("/", "-")

    def document(self, path):
        # GitHub's comments for tests are no text.
        text = re.sub(r"<!--.*?-->", "", read(path), flags=re.S)
        body = run("lowdown", "-Thtml", "--html-no-skiphtml", text=text)
        body = re.sub(r'(href|src)="([^"]*)"', lambda m: '%s="%s"' % (m[1], html.escape(self.link(html.unescape(m[2]), path))), body)
        title = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S)
        self.pages[path] = (re.sub(r"<[^>]*>", "", title.group(1)).strip() if title else path, self.tables(body))

    @staticmethod
    def tables(body):
        return body.replace("<table>", '<div class="wide" tabindex="0"><table>').replace("</table>", "</table></div>")

    def manual(self, name):
        body = run("mandoc", "-Thtml", "-Ofragment", os.path.join(ROOT, "docs", "man", name))
        page = name.rpartition(".")[0]

        def refer(match):
            other = match.group(1)
            return '<a href="man-%s.html"><b>%s</b></a>(1)' % (other, other) if other + ".1" in self.manuals else match.group(0)
        body = re.sub(r"<b>(seep(?:-[a-z]+)?)</b>\(1\)", refer, body)
        # `docs/x.md` of a manual page is a page here.
        body = re.sub(r"\bdocs/([\w-]+)\.md\b", lambda m: '<a href="%s">%s</a>' % (name_of("docs/%s.md" % m[1]), m[0])
                      if "docs/%s.md" % m[1] in self.documents else m[0], body)
        # One h1 a page; mandoc gives its sections that.
        body = re.sub(r'<(/?)h1(?=[ >])', r"<\1h2", body)
        self.pages["man/" + name] = (page, "<h1>%s</h1>\n%s" % (page.replace("-", " ", 1), body))

    def commands(self):
        """The table of the README that leads from a question to a command."""
        part = re.search(r"^## Which command for which question\n(.*?)^## ", read("README.md"), re.M | re.S)
        body = run("lowdown", "-Thtml", text="# Which command for which question\n" + part.group(1))
        body = re.sub(r'href="([^"]*)"', lambda m: 'href="%s"' % html.escape(self.link(html.unescape(m[1]), "README.md")), body)

        def manual(match):
            return '<a href="man-seep-%s.html">%s</a>' % (match.group(2), match.group(0)) if "seep-%s.1" % match.group(2) in self.manuals else match.group(0)
        body = re.sub(r"<code>((?:sudo )?seep ([a-z]+)[^<]*)</code>", manual, body)
        self.pages["commands"] = ("Which command for which question", self.tables(body))

    def screenshots(self):
        def figures(shots):
            made = []
            for name, words in shots:
                source = os.path.join(self.build or "", "web", "shots", name + ".png")
                if self.build and os.path.exists(source):
                    shutil.copy(source, os.path.join(self.out, "shots", name + ".png"))
                    made.append('<figure><a href="shots/%s.png"><img src="shots/%s.png" alt="%s" loading="lazy"></a><figcaption>%s</figcaption></figure>'
                                % (name, name, html.escape(words), html.escape(words)))
            return made
        large, small = figures(SHOTS), figures(PHONES)
        if not large and not small:
            print("make_site.py: no screenshots: the tests of tests/web leave them in BUILD/web/shots")
            self.groups[0] = (self.groups[0][0], [path for path in self.groups[0][1] if path != "screenshots"])
            return
        self.pages["screenshots"] = ("Screenshots", "<h1>Screenshots</h1>\n<p>Of the page of <a href=\"page.html\">seep html</a>, made by its tests.</p>\n%s\n"
                                     "<div class=\"phones\">%s</div>" % ("\n".join(large), "\n".join(small)))

    def navigation(self, current):
        parts = []
        for title, paths in self.groups + [("Manual", ["man/" + name for name in self.manuals])]:
            items = []
            for path in paths:
                words = TITLES.get(path) or (self.pages[path][0].replace("-", " ", 1) if path.startswith("man/") else self.pages[path][0])
                items.append('<li><a href="%s"%s>%s</a></li>' % (self.file_of(path), ' aria-current="page"' if path == current else "", html.escape(words, quote=False)))
            parts.append("<h2>%s</h2>\n<ul>%s</ul>" % (title, "".join(items)))
        return ('<nav aria-label="Pages"><a class="brand" href="index.html">seep</a><input type="checkbox" id="menu" aria-label="Show all pages"><label for="menu" aria-hidden="true">Pages</label>'
                '<div class="pages">%s</div></nav>' % "\n".join(parts))

    @staticmethod
    def file_of(path):
        return "man-%s.html" % path[len("man/"):].rpartition(".")[0] if path.startswith("man/") else name_of(path)

    def write(self):
        for path, (title, body) in self.pages.items():
            if path == "README.md":
                cards = [("commands.html", "Which command?", "From a question to a command."), ("guides.html", "Guides", "Ten minutes each."),
                         ("page.html", "The page", "One file for a browser."), ("coming-from.html", "Coming from", "Valgrind, heaptrack and others.")]
                if "screenshots" in self.pages:
                    cards.insert(2, ("screenshots.html", "Screenshots", "What it looks like."))
                body = body.replace("</h1>", "</h1>\n<div class=\"cards\">%s</div>" % "".join('<a href="%s"><b>%s</b>%s</a>' % card for card in cards), 1)
            text = ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
                    '<title>%s</title>\n<link rel="icon" href="data:,">\n<link rel="stylesheet" href="style.css">\n</head>\n<body>\n%s\n<main>\n%s\n'
                    '<footer>seep, BSD-2-Clause. Made of the documents of its sources.</footer>\n</main>\n</body>\n</html>\n'
                    % (html.escape(title if title == "seep" else title + " – seep", quote=False), self.navigation(path), body))
            with open(os.path.join(self.out, self.file_of(path)), "w", encoding="utf-8") as file:
                file.write(text)
        for place in self.copied:
            shutil.copy(os.path.join(ROOT, place), os.path.join(self.out, "files", place.replace("/", "-")))
        shutil.copy(os.path.join(HERE, "style.css"), self.out)

    def make(self):
        for folder in ("", "shots", "files"):
            os.makedirs(os.path.join(self.out, folder), exist_ok=True)
        for path in self.documents:
            self.document(path)
        for name in self.manuals:
            self.manual(name)
        self.commands()
        self.screenshots()
        self.write()
        print("%s: %d pages" % (os.path.join(self.out, "index.html"), len(self.pages)))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("make_site.py: OUT [BUILD]")
    for tool in ("lowdown", "mandoc"):
        if not shutil.which(tool):
            sys.exit("make_site.py: %s is not installed (tools/install-deps.sh web)" % tool)
    Site(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None).make()


if __name__ == "__main__":
    main()
