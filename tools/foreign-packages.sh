#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Unpacks packages of Debian for another CPU into a folder, and changes nothing of the system: it needs no root, and dpkg
# need not know that architecture. foreign-packages.sh ARCH NAME...; foreign-packages.sh --folder ARCH says where they are.
# Exit status: 0 they are there, 1 they could not be downloaded.
set -eu
place=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/seep/foreign
if [ "$1" = --folder ]; then
    echo "$place/$2"
    exit 0
fi
arch=$1
shift
missing=
for name in "$@"; do
    [ -e "$place/$arch/usr/share/doc/$name" ] || missing="$missing $name:$arch"
done
[ -n "$missing" ] || exit 0
mkdir -p "$place"
work=$(mktemp -d "$place/work-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root"
cat >"$work/apt.conf" <<END
APT::Architecture "$(dpkg --print-architecture)";
APT::Architectures { "$arch"; };
Dir::State::lists "$work/lists";
Dir::State::status "/dev/null";
Dir::Cache "$work/cache";
Acquire::Languages "none";
APT::Sandbox::User "";
END
cd "$work"
echo "foreign-packages.sh: downloading$missing"
# An archive that has nothing for this architecture is no trouble: what counts is whether the packages come.
apt-get -q -c apt.conf update >update.log 2>&1 || :
# shellcheck disable=SC2086 # a list of words
apt-get -q -c apt.conf download $missing >download.log 2>&1 || {
    tail -n 5 update.log download.log >&2
    echo "foreign-packages.sh: cannot download$missing" >&2
    exit 1
}
for file in *.deb; do dpkg-deb -x "$file" root; done
mkdir -p "$place/$arch"
cp -a root/. "$place/$arch/"
