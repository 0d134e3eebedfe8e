# SPDX-License-Identifier: BSD-2-Clause
# Who asked for which page, and how many bytes that was. It remembers all of it to the end.
use strict;
use warnings;

my (%seen, @missing);
while (<>) {
    my ($who, $verb, $page, $status, $bytes) = split;
    $seen{$who}{$page} += $bytes;
    push @missing, $page if $status == 404;
}
printf "%d visitors, %d misses\n", scalar(keys %seen), scalar(@missing);
