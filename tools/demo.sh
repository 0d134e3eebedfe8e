#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# What `make run` shows: a real program on real input under seep, and what its report says. The
# program is sqlite3 on a made database; without it jq, without that python3.
set -eu
build=$1
seep=$build/seep
demo=$build/demo
mkdir -p "$demo"
rm -f "$demo"/*.seep

if command -v sqlite3 >/dev/null 2>&1; then
    # A shop: 40,000 orders, then the questions one asks of it.
    cat >"$demo/shop.sql" <<'END'
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INT, day INT, cents INT, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
  INSERT INTO customer SELECT i, 'customer ' || i, 'city ' || (i * 7919 % 97) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
  INSERT INTO orders SELECT i, i * 31 % 2000 + 1, i % 365, i * 7919 % 10000, 'note ' || i FROM n;
CREATE INDEX orders_of_customer ON orders(customer);
SELECT city, count(*), sum(cents) FROM orders JOIN customer ON customer = customer.id
  GROUP BY city ORDER BY 3 DESC LIMIT 3;
SELECT length(group_concat(note, ', ')) FROM orders;
SELECT count(DISTINCT substr(note, 1, 7)) FROM orders;
END
    set -- sqlite3 :memory: ".read $demo/shop.sql"
elif command -v jq >/dev/null 2>&1; then
    awk 'BEGIN { for (i = 1; i <= 40000; i++)
        printf "{\"id\":%d,\"city\":\"city %d\",\"cents\":%d}\n", i, i * 7919 % 97, i * 31 % 9973 }' >"$demo/orders.json"
    set -- jq -s 'group_by(.city) | map({city: .[0].city, cents: map(.cents) | add}) | sort_by(.cents)[-3:]' \
        "$demo/orders.json"
else
    set -- /usr/bin/python3 -c \
        'import json; print(len(json.dumps([{"id": i, "name": "n%d" % i} for i in range(40000)])))'
fi

echo "\$ seep run -o demo.seep -- $*"
"$seep" run -o "$demo/demo.seep" --top 3 -- "$@"
echo
echo "\$ seep report demo.seep --by function --sort allocations --top 5"
"$seep" report "$demo/demo.seep" --by function --sort allocations --top 5
echo
echo "The trace is $demo/demo.seep; '$seep help' lists what else there is."
