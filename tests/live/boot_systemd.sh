#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# A systemd of its own over this machine's files: boot_systemd.sh FOLDER. What it writes goes to a tmpfs and is
# gone with it. Runs until it is killed; FOLDER/up is there when a mount fails or the container begins.
set -eu
folder=$1
mount --make-rprivate /
mkdir -p "$folder/low" "$folder/room" "$folder/root"
mount -t tmpfs tmpfs "$folder/room"
mkdir "$folder/room/up" "$folder/room/work"
mount --bind / "$folder/low"
mount -t overlay -o "lowerdir=$folder/low,upperdir=$folder/room/up,workdir=$folder/room/work" overlay "$folder/root"
# Services of this machine are not started: nothing is wanted but what the test starts.
exec systemd-nspawn -q --directory="$folder/root" --boot --register=no --keep-unit --private-network \
    -M "seep-$$" --bind-ro="$2" systemd.unit=basic.target
