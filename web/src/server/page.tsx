// The server: sessions, slow statements, locks, sizes and what the store counts, as far as the reader may see it.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failure, api } from "../api";
import { bytes, count } from "../format";
import { maySql } from "../session";
import type { Rows } from "../types";
import { Cell, Grid } from "../ui/grid";
import { Button, Empty, Wrong, useLoaded } from "../ui/kit";

const REFRESH_MS = 3000;

/** The statements of this page say so, and are left out of the sessions. */
const OWN = "/* explorer */";

const SESSIONS = `SELECT pid, usename AS "user", datname AS "database", application_name AS program, client_addr AS "from", state,
  wait_event_type AS waits, date_trunc('second', now() - query_start)::text AS "for", left(query, 300) AS statement
  FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query NOT LIKE '/* explorer */%' ORDER BY state = 'active' DESC, query_start LIMIT 200`;
const LOCKS = `SELECT l.pid, a.usename AS "user", l.locktype AS lock, coalesce(l.relation::regclass::text, '') AS "table", l.mode, l.granted,
  array_to_string(pg_blocking_pids(l.pid), ', ') AS "waits for"
  FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.pid <> pg_backend_pid() AND l.locktype <> 'virtualxid' AND coalesce(a.query, '') NOT LIKE '/* explorer */%' ORDER BY l.granted, l.pid LIMIT 200`;
const SLOW = `SELECT calls, round(mean_exec_time::numeric, 2) AS "mean ms", round(max_exec_time::numeric, 2) AS "longest ms",
  round(total_exec_time::numeric, 1) AS "total ms", rows, left(query, 300) AS statement FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 50`;
const WORK = `SELECT pid, 'index' AS work, phase, tuples_done AS done, tuples_total AS "of" FROM pg_stat_progress_create_index
  UNION ALL SELECT pid, 'vacuum', phase, heap_blks_scanned, heap_blks_total FROM pg_stat_progress_vacuum
  UNION ALL SELECT pid, 'copy', command, tuples_processed, NULL FROM pg_stat_progress_copy`;
const DATABASES = `SELECT datname AS "database", pg_database_size(datname) AS bytes FROM pg_database WHERE datallowconn ORDER BY 1`;

/** The metrics that the page shows, by their names. */
const SHOWN: [string, string, (value: number) => string][] = [
  ["anywhen_database_disk_bytes", "On the disk", bytes],
  ["anywhen_database_current_bytes", "Newest versions in files", bytes],
  ["anywhen_database_history_bytes", "History in files", bytes],
  ["anywhen_database_log_bytes", "Log", bytes],
  ["anywhen_database_segments", "Files of the store", count],
  ["anywhen_database_compactions_total", "Merges of files", count],
  ["anywhen_database_memtable_bytes", "Changes in memory", bytes],
  ["anywhen_database_cached_bytes", "Cache", bytes],
  ["anywhen_database_commits_total", "Commits", count],
  ["anywhen_http_connections", "HTTP connections", count],
  ["anywhen_http_followers", "Followers of changes", count],
  ["anywhen_connections", "SQL connections", count],
  ["anywhen_slow_statements_total", "Slow statements", count],
];

function read(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [name = "", value = ""] = line.split(" ");
    if (name !== "" && !name.startsWith("#") && !name.includes("{")) found.set(name, Number(value));
  }
  return found;
}

export function ServerPage(): JSX.Element {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setTurn((old) => old + 1);
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  const metrics = useLoaded(async () => read(await api.metrics()), [turn]);
  return (
    <main tabIndex={-1} id="main" class="server-page">
      <h1>Server</h1>
      {metrics.error !== null && <Wrong error={metrics.error} />}
      <dl class="figures">
        {SHOWN.filter(([name]) => metrics.value?.has(name)).map(([name, words, form]) => (
          <div key={name}><dt>{words}</dt><dd title={name}>{form(metrics.value?.get(name) ?? 0)}</dd></div>
        ))}
      </dl>
      {maySql.value ? <>
        <Part title="Databases" sql={DATABASES} turn={0} format={{ bytes: (value) => bytes(Number(value)) }} none="" />
        <Part title="Sessions" sql={SESSIONS} turn={turn} none="No other sessions." cancel />
        <Part title="Locks" sql={LOCKS} turn={turn} none="No locks of other sessions." />
        <Part title="Work under way" sql={WORK} turn={turn} none="No index is made, nothing is copied or vacuumed." />
        <Part title="Slow statements" sql={SLOW} turn={0} none="No statements yet." missing="Statements are counted in databases with CREATE EXTENSION pg_stat_statements." />
      </> : <Empty>Sessions and locks are read by SQL, which this token may not run.</Empty>}
      <h2>Backups</h2>
      <p class="muted">A running server is copied by <code>anywhen backup --from {location.origin} TARGET</code>, with a token of a superuser or of a role with REPLICATION.</p>
    </main>
  );
}

function Part({ title, sql, turn, none, missing, cancel, format = {} }: {
  title: string;
  sql: string;
  turn: number;
  none: string;
  /** The text for a database without this view. */
  missing?: string;
  cancel?: boolean;
  format?: Record<string, (value: unknown) => string>;
}): JSX.Element {
  const { value, error } = useLoaded(() => api.sql(`${OWN} ${sql}`), [turn]);
  const isMissing = error instanceof Failure && error.sqlstate === "42P01" && missing !== undefined;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {isMissing ? <p class="muted">{missing}</p> : error !== null && <Wrong error={error} />}
      {value !== null && error === null && (value.rows.length === 0 ? <p class="muted">{none}</p> : <SmallTable rows={value} cancel={cancel ?? false} format={format} />)}
    </section>
  );
}

function SmallTable({ rows, cancel, format }: { rows: Rows; cancel: boolean; format: Record<string, (value: unknown) => string> }): JSX.Element {
  if (rows.rows.length > 40) return <Grid rows={rows} label="Rows" />;
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead><tr>{rows.columns.map((column) => <th key={column.name} scope="col">{column.name}</th>)}{cancel && <th scope="col"><span class="visually-hidden">Cancel</span></th>}</tr></thead>
        <tbody>
          {rows.rows.map((row, at) => (
            <tr key={at}>
              {row.map((value, column) => {
                const shown = format[rows.columns[column]?.name ?? ""];
                return <td key={column}>{shown ? shown(value) : <Cell value={value} />}</td>;
              })}
              {cancel && <td>{row[5] === "active" && <Button kind="quiet" onClick={() => void api.sql("SELECT pg_cancel_backend($1::int)", { parameters: [row[0] ?? null] })}>cancel</Button>}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
