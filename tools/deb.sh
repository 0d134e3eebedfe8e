#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Debian packages of what is committed: deb.sh FOLDER. Builds them there, looks at them with lintian, and, where root can
# make a minimal root (tools/fresh.sh), installs, uses and removes them in it. Exit status: 0 all is well, 1 not, 2
# this machine cannot build packages.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/seep/roots
for program in dpkg-buildpackage dh lintian; do
    command -v "$program" >/dev/null || {
        echo "deb.sh: $program is not installed (apt-get install dpkg-dev debhelper lintian)" >&2
        exit 2
    }
done
version=$(sed -n "s/^ *version: '\(.*\)',/\1/p" "$here/meson.build" | head -n 1)
rm -rf "$out/source" "$out"/*.deb
mkdir -p "$out/source"
if git -C "$here" rev-parse --git-dir >/dev/null 2>&1; then
    git -C "$here" archive HEAD | tar -x -C "$out/source"
else
    tar -C "$here" --exclude='./build*' -c . | tar -x -C "$out/source"
fi
cp -a "$out/source/packaging/debian" "$out/source/debian"
cat >"$out/source/debian/changelog" <<END
seep ($version) unstable; urgency=medium

  * Built from the sources; CHANGELOG.md says what changed.

 -- The seep developers <seep@localhost.invalid>  $(date -R)
END
(cd "$out/source" && dpkg-buildpackage -us -uc -b >"$out/build.log" 2>&1) || {
    tail -n 30 "$out/build.log" >&2
    echo "deb.sh: the build failed; all of it is in $out/build.log" >&2
    exit 1
}
rm -rf "$out/source"
ls -l "$out"/*.deb
lintian --fail-on error --suppress-tags initial-upload-closes-no-bugs "$out"/*.deb || {
    echo "deb.sh: lintian found errors" >&2
    exit 1
}

# What distributions compile everything with must not get into the library: musl lacks __memcpy_chk.
dpkg-deb --fsys-tarfile "$out"/libseep1_*.deb | tar -x -C "$out" --wildcards --strip-components=5 './usr/lib/*/seep/libseep.so'
if nm -D --undefined-only "$out/libseep.so" | grep -q '_chk'; then
    echo "deb.sh: libseep.so was built with _FORTIFY_SOURCE: it does not load into programs of musl" >&2
    exit 1
fi

# ---- installed, used, removed ----

if [ "$(id -u)" != 0 ] || [ ! -d "$cache/bookworm" ]; then
    echo "deb.sh: not installed anywhere: that needs root and a minimal root (make roots)"
    exit 0
fi
root=$out/root
rm -rf --one-file-system "$root"
cp -a --reflink=auto "$cache/bookworm" "$root"
mkdir -p "$root/debs"
cp "$out"/*.deb "$root/debs"
cat /etc/resolv.conf >"$root/etc/resolv.conf"
cat /etc/hosts >"$root/etc/hosts"
cat >"$root/try" <<'END'
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
mount -t proc proc /proc
files() { find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /var/cache -o -path /var/lib/apt -o -path /var/log -o -path /debs \
    -o -path /tmp -o -path /var/lib/dpkg \) -prune -o -print | sort; }
apt-get -q update >/dev/null
# What ours need comes first, and stays.
needs=$(dpkg-deb -f /debs/seep_*.deb Depends | tr ',' '\n' | sed 's/(.*//; s/|.*//; s/ //g; /libseep1/d')
apt-get -q -y --no-install-recommends install $needs gcc libc6-dev pkg-config >/dev/null
files >/tmp/before
dpkg -i /debs/*.deb >/dev/null
seep --version
printf '#include <stdlib.h>\nint main(void) { char *volatile p = malloc(77); p = NULL; return p != NULL; }\n' >/tmp/leaky.c
gcc -g -O1 $(pkg-config --cflags seep) -o /tmp/leaky /tmp/leaky.c
cd /tmp && seep run -o /tmp/leaky.seep ./leaky 2>/tmp/report
grep -q '77 B lost in 1 block' /tmp/report || { cat /tmp/report; exit 1; }
seep report /tmp/leaky.seep --json >/dev/null
LD_PRELOAD=$(dpkg -L libseep1 | grep '/seep/libseep.so$') SEEP_OUT=/tmp/alone.seep ./leaky
seep report /tmp/alone.seep | grep -q 77
seep info | grep -q 'libseep.so  */usr/lib'
if [ -x /usr/bin/seep-agent ]; then
    seep-agent run sleep 60 &
    while ! pid=$(seep-agent list | awk '$NF == "sleep" { print $1; exit }') || [ -z "$pid" ]; do sleep 0.1; done
    seep connect -e status "exec:seep-agent serve --listen stdio $pid" | grep -q '^state  *running'
    kill "$pid"
    wait || true
    [ -z "$(find /run /tmp -name 'seep-agent-*')" ]
fi
dpkg --purge $(for deb in /debs/*.deb; do dpkg-deb -f $deb Package; done) >/dev/null
files >/tmp/after
cmp /tmp/before /tmp/after || { diff /tmp/before /tmp/after; exit 1; }
echo "installed, used and removed: nothing is left behind"
END
status=0
unshare --mount --propagation private chroot "$root" sh /try || status=1
rm -rf --one-file-system "$root"
exit $status
