// SPDX-License-Identifier: BSD-2-Clause
// What DuckDB makes of a file of Parquet: counts, sums and texts of each column, as JSON.
const { DuckDBInstance } = require('@duckdb/node-api');

async function main() {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const from = `from read_parquet('${process.argv[2]}')`;
  const ask = async (sql) => (await connection.runAndReadAll(sql)).getRowsJson();
  const [[rows, first, last, bytes, addresses, sites]] = await ask(
    `select count(*), min(at_ns), max(at_ns), sum(size), sum(address::hugeint), sum(site) ${from}`);
  const events = await ask(`select event, function, count(*), sum(size) ${from} group by 1, 2 order by 1, 2`);
  const places = await ask(`select place, count(*) ${from} group by 1 order by 1`);
  const [[late]] = await ask(`select count(*) ${from} where at_ns > (select (min(at_ns) + max(at_ns)) // 2 ${from})`);
  console.log(JSON.stringify({ rows, first, last, bytes, addresses, sites, events, places, late }));
}

main();
