#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Removes what `meson install` put there: uninstall.sh BUILD [DESTDIR]. It asks the build what that is, so it needs no log
# of the installation. Folders go where nothing is left in them, but never those that every prefix has.
set -eu
build=$1
stage=${2:-}
meson introspect --installed "$build" | python3 -c '
import json, os, sys
stage = sys.argv[1]
places = sorted(set(json.load(sys.stdin).values()), key=len, reverse=True)
common = {"bin", "lib", "include", "share", "man", "man1", "doc", "pkgconfig", "completions", "bash-completion", "site-functions",
          "zsh", "fish", "vendor_completions.d", "local", "usr", "opt"}
nr, folders = 0, set()
for place in places:
    path = stage + place
    if os.path.isdir(path) and not os.path.islink(path):
        for top, _, names in os.walk(path, topdown=False):
            for name in names:
                os.unlink(os.path.join(top, name))
                nr += 1
            folders.add(top)
    elif os.path.lexists(path):
        os.unlink(path)
        nr += 1
    folders.add(os.path.dirname(path))
for folder in sorted(folders, key=len, reverse=True):
    while os.path.basename(folder) not in common and folder not in ("/", ""):
        try:
            os.rmdir(folder)
        except OSError:
            break
        folder = os.path.dirname(folder)
print("removed %d files" % nr)
' "$stage"
