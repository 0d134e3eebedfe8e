#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The README's first commands on a machine that has nothing: fresh.sh SUITE [STEP...]
#
#   run    make run, as root
#   user   make run, as a user who is not root, with the packages there
#   test   make test, as root
#   root   only the minimal root, for tests/live/test_roots.py
#
# SUITE is a release of Debian (bookworm, trixie, forky). Without a STEP: run, test and user. The root is made by
# debootstrap, once; each call works in a copy of it, with a clone of what is committed here. The root is a
# mount point of its own, in a mount namespace that ends with this program. Packages are kept in the cache
# ($XDG_CACHE_HOME/seep/roots). KEEP=1 leaves the copy there, and works in it again where there is one.
# Exit status: 0 all steps went well, 1 one failed, 2 this machine cannot make roots.
set -eu
suite=$1
shift
[ $# -gt 0 ] || set -- run test user
here=$(cd "$(dirname "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/seep/roots
base=$cache/$suite
work=$cache/$suite.work
scripts=/usr/share/debootstrap/scripts
mirror=${MIRROR:-$(sed -n 's/^DEF_MIRROR="\(.*\)"/\1/p' "$(command -v debootstrap)" 2>/dev/null || true)}
top=/root # a folder of mode 0700
home=/home/fresh

if [ "$*" = root ] && [ -d "$base" ]; then exit 0; fi
if [ "${SEEP_FRESH_INSIDE:-}" != yes ]; then
    if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null || ! command -v git >/dev/null; then
        echo "fresh.sh: needs root, debootstrap and git (apt-get install debootstrap git)" >&2
        exit 2
    fi
    mkdir -p "$cache"
    exec unshare --mount --propagation private env SEEP_FRESH_INSIDE=yes flock --no-fork "$cache/$suite.lock" "$0" "$suite" "$@"
fi

if [ ! -d "$base" ]; then
    echo "fresh.sh: making a minimal root of $suite in $base"
    script=$scripts/$suite
    [ -e "$script" ] || script=$scripts/sid # a release that debootstrap has not heard of
    rm -rf "$base.part"
    if ! debootstrap --variant=minbase --include=ca-certificates "$suite" "$base.part" "$mirror" "$script" >"$base.log" 2>&1; then
        tail -n 20 "$base.log" >&2
        exit 2
    fi
    mv "$base.part" "$base"
fi

[ "$*" != root ] || exit 0
if [ "${KEEP:-}" != 1 ] || [ ! -d "$work" ]; then
    rm -rf --one-file-system "$work"
    cp -a --reflink=auto "$base" "$work"
fi
mkdir -p "$cache/archives/$suite"
mount --bind "$work" "$work"
mount --bind "$cache/archives/$suite" "$work/var/cache/apt/archives"
mount -t proc proc "$work/proc"
mount --rbind /sys "$work/sys"
mount --rbind /dev "$work/dev"
cat /etc/resolv.conf >"$work/etc/resolv.conf"
cat /etc/hosts >"$work/etc/hosts"
# What this machine trusts, as a proxy may be between it and npm's registry.
certificates=/etc/ssl/certs/ca-certificates.crt
[ ! -e "$certificates" ] || cat "$certificates" >"$work/etc/ssl/fresh.crt"
# The lists of testing are not always younger than they promise.
echo 'Acquire::Check-Valid-Until "false";' >"$work/etc/apt/apt.conf.d/90fresh"

# In the root, by pivot_root: in a chroot a user namespace cannot be made.
# shellcheck disable=SC2016
inside() {
    env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 \
        NODE_EXTRA_CA_CERTS=/etc/ssl/fresh.crt \
        unshare --mount --propagation private sh -c '
            root=$1; shift
            cd "$root" && pivot_root . . && umount -l . && cd / && exec "$@"' inside "$work" "$@"
}

clone() { # FOLDER
    if [ "${KEEP:-}" = 1 ] && [ -d "$work$1/.git" ]; then
        git -c safe.directory='*' -C "$work$1" fetch -q "$here" HEAD
        git -c safe.directory='*' -C "$work$1" reset -q --hard FETCH_HEAD
    else
        rm -rf "${work:?}$1"
        git clone -q --no-hardlinks "$here" "$work$1"
    fi
}

# All there is to say of one step: timed NAME COMMAND...
bad=0
summary=
timed() {
    name=$1
    shift
    log=$cache/$suite-$name.log
    began=$(date +%s)
    result=0
    { "$@" 2>&1 && echo 0 >"$log.status" || echo $? >"$log.status"; } | tee "$log"
    result=$(cat "$log.status")
    rm -f "$log.status"
    said="went well"
    [ "$result" = 0 ] || said="FAILED, exit status $result" bad=1
    summary="$summary$suite, $name: $said, $(($(date +%s) - began)) s, $(tail -n 1 "$log")
"
}

# make run, and what ninja took of it. shellcheck does not see who calls it.
# shellcheck disable=SC2317
make_run() { # FOLDER COMMAND...
    folder=$1
    shift
    inside "$@" make -C "$folder" run || return
    awk 'NR > 1 { if (!first || $1 < first) first = $1; if ($2 > last) last = $2 }
        END { printf "compiled in %d s\n", (last - first) / 1000 }' "$work$folder/build/.ninja_log"
}

# What anyone has who cloned it.
if [ ! -e "$work/usr/bin/make" ] || [ ! -e "$work/usr/bin/git" ]; then
    inside apt-get -q update >/dev/null
    inside env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends -o Dpkg::Use-Pty=0 install git make >/dev/null
fi
for step in "$@"; do
    case $step in
    run)
        clone "$top/seep"
        ran=yes
        timed run make_run "$top/seep" env
        ;;
    test)
        [ "${ran:-}" = yes ] || clone "$top/seep"
        timed test inside make -C "$top/seep" test
        ;;
    user)
        inside id fresh >/dev/null 2>&1 || inside useradd --create-home --shell /bin/sh fresh
        inside dpkg -s libdw-dev >/dev/null 2>&1 || { clone "$top/seep" && inside "$top/seep/tools/install-deps.sh" build demo; }
        clone "$home/seep"
        inside chown -R fresh: "$home/seep"
        timed user make_run "$home/seep" runuser -u fresh -- env HOME="$home"
        ;;
    *)
        echo "fresh.sh: unknown step '$step' (run, user, test, root)" >&2
        exit 2
        ;;
    esac
done
umount -l "$work/dev" "$work/sys" "$work/proc" "$work/var/cache/apt/archives"
umount -l "$work"
[ "${KEEP:-}" = 1 ] || rm -rf --one-file-system "$work"
printf '\n%s' "$summary"
exit $bad
