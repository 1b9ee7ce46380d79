// The rows of a table at any moment, the history of a row, and what happened to the table between two moments.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api } from "../api";
import { count, dateTime, plural } from "../format";
import { write } from "../exact";
import { href, param, route, setParams } from "../route";
import { maySql, moment } from "../session";
import { asOf, quoted } from "../sql/names";
import type { Json, Rows } from "../types";
import { Grid, cellText } from "../ui/grid";
import { Author, Button, Choice, Empty, Text, Wrong, useLoaded } from "../ui/kit";

const PAGE = 500;

interface Table {
  schema: string;
  name: string;
  /** The quoted name. */
  sql: string;
}

export function RowsPage(): JSX.Element {
  const [, schema = "public", name = ""] = route.value.parts;
  const table: Table = { schema, name, sql: `${quoted(schema)}.${quoted(name)}` };
  const view = param("view") === "changes" ? "changes" : "rows";
  if (!maySql.value) return <main tabIndex={-1} id="main"><Empty>Rows are read by SQL, which this token may not run.</Empty></main>;
  return (
    <main tabIndex={-1} id="main" class="rows-page">
      <div class="doc-head">
        <h1 class="crumbs"><a href={href([], { at: moment.value })}>tables</a> <span aria-hidden="true">/</span> {schema !== "public" && <><Text of={schema} />.</>}<Text of={name} max={63} /></h1>
        <Choice label="View" value={view} of={[["rows", "Rows"], ["changes", "Changes"]]} onChange={(next) => setParams({ view: next === "rows" ? null : next }, true)} />
      </div>
      {view === "rows" ? <TableRows key={table.sql} table={table} /> : <TableChanges key={table.sql} table={table} />}
    </main>
  );
}

const KEY = `SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
  WHERE i.indrelid = $1::regclass AND i.indisprimary ORDER BY a.attnum`;

function TableRows({ table }: { table: Table }): JSX.Element {
  const at = moment.value;
  const [where, setWhere] = useState(param("where") ?? "");
  const [asked, setAsked] = useState(where);
  const [page, setPage] = useState(0);
  const [picked, setPicked] = useState<number | null>(null);
  const key = useLoaded(async () => (await api.sql(KEY, { parameters: [table.sql] })).rows.map((row) => String(row[0])), []);
  const rows = useLoaded(() => {
    const order = key.value && key.value.length > 0 ? ` ORDER BY ${key.value.map(quoted).join(", ")}` : "";
    const filter = asked.trim() === "" ? "" : ` WHERE ${asked}`;
    return api.sql(`SELECT * FROM ${table.sql}${asOf(at)}${filter}${order} LIMIT ${PAGE + 1} OFFSET ${page * PAGE}`);
  }, [key.value, asked, page, at]);
  const shown: Rows | null = rows.value && { ...rows.value, rows: rows.value.rows.slice(0, PAGE) };
  const filter = (event: Event) => {
    event.preventDefault();
    setPage(0);
    setPicked(null);
    setAsked(where);
    setParams({ where });
  };
  const row = picked !== null && shown ? shown.rows[picked] : undefined;
  return (
    <>
      <form class="filter-line" onSubmit={filter}>
        <label for="where">WHERE</label>
        <input id="where" value={where} onInput={(event) => setWhere(event.currentTarget.value)} placeholder="any condition of SQL, such as cents > 300" />
        <Button type="submit">Filter</Button>
        <span class="muted" role="status">{at === null ? "now" : `as of ${dateTime(at)}`}{shown && <>, {plural(shown.rows.length, "row")}{page > 0 && ` from ${count(page * PAGE + 1)}`}</>}</span>
        {page > 0 && <Button onClick={() => { setPage(page - 1); setPicked(null); }}>Previous</Button>}
        {rows.value && rows.value.rows.length > PAGE && <Button onClick={() => { setPage(page + 1); setPicked(null); }}>Next</Button>}
      </form>
      {rows.error !== null && <Wrong error={rows.error} />}
      <div class={`with-side${row ? " open" : ""}`}>
        {shown && (shown.rows.length === 0 ? <Empty>No rows.</Empty> : <Grid rows={shown} label={`Rows of ${table.name}`} picked={picked} onPick={setPicked} />)}
        {row && shown && <RowHistory table={table} keys={key.value ?? []} columns={shown.columns.map((column) => column.name)} row={row} onClose={() => setPicked(null)} />}
      </div>
    </>
  );
}

/** Every version of one row, the newest first; what each changed is marked. */
function RowHistory({ table, keys, columns, row, onClose }: { table: Table; keys: string[]; columns: string[]; row: Json[]; onClose: () => void }): JSX.Element {
  const values = keys.map((name) => cellText(row[columns.indexOf(name)] ?? null));
  const { value, error } = useLoaded(async () => {
    if (keys.length === 0) return null;
    const condition = keys.map((name, at) => `${quoted(name)}::text = $${at + 1}`).join(" AND ");
    return api.sql(
      `SELECT t.*, t._system_from AS "system from", t._system_to AS "system to", c.author AS "by", c.message AS "why"
         FROM ${table.sql} FOR SYSTEM_TIME ALL t LEFT JOIN commits c ON c.committed_at = t._system_from
        WHERE ${condition.replace(/"([^"]|"")*"::/g, (name) => `t.${name}`)} ORDER BY t._system_from DESC LIMIT 500`,
      { parameters: values },
    ).catch(() => api.sql(
      `SELECT t.*, t._system_from AS "system from", t._system_to AS "system to" FROM ${table.sql} FOR SYSTEM_TIME ALL t
        WHERE ${condition.replace(/"([^"]|"")*"::/g, (name) => `t.${name}`)} ORDER BY t._system_from DESC LIMIT 500`,
      { parameters: values },
    ));
  }, [table.sql, values.join("\0")]);
  const names = value?.columns.map((column) => column.name) ?? [];
  const at = (each: Json[], name: string): Json => each[names.indexOf(name)] ?? null;
  return (
    <aside class="panel" aria-label="History of a row">
      <header><h2>{keys.map((name, at) => <span key={name}>{at > 0 && ", "}<Text of={name} /> = <Text of={values[at] ?? ""} max={60} /></span>)}</h2><Button kind="quiet" label="Close" onClick={onClose}>✕</Button></header>
      {keys.length === 0 && <Empty>The table has no primary key: its rows have no history of their own here.</Empty>}
      {error !== null && <Wrong error={error} />}
      <ol class="row-history">
        {value?.rows.map((each, number) => {
          const before = value.rows[number + 1];
          const changed = names.filter((name) => columns.includes(name) && (!before || write(at(each, name)) !== write(at(before, name))));
          const end = cellText(at(each, "system to"));
          return (
            <li key={number}>
              <div class="small"><time>{dateTime(cellText(at(each, "system from")))}</time> {end === "infinity" ? <span class="badge">now</span> : <span class="muted">to {dateTime(end)}</span>} {names.includes("by") && cellText(at(each, "by")) !== "" && <Author name={cellText(at(each, "by"))} />}</div>
              {names.includes("why") && cellText(at(each, "why")) !== "" && <div class="small muted"><Text of={cellText(at(each, "why"))} max={100} /></div>}
              <dl>{changed.map((name) => (
                <div key={name}><dt><Text of={name} /></dt><dd>{before && <><del><Text of={cellText(at(before, name))} max={80} /></del> → </>}<ins><Text of={cellText(at(each, name))} max={80} /></ins></dd></div>
              ))}</dl>
            </li>
          );
        })}
      </ol>
    </aside>
  );
}

const CHANGES_MAX = 1000;
const OPS = ["insert", "update", "delete"] as const;

function local(time: string): string {
  const when = new Date(time);
  return new Date(when.getTime() - when.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function TableChanges({ table }: { table: Table }): JSX.Element {
  const at = moment.value;
  const from = param("from") ?? "";
  const [only, setOnly] = useState<(typeof OPS)[number] | "all">("all");
  const [text, setText] = useState("");
  const { value, error, busy } = useLoaded(() => api.sql(
    `SELECT t._op, t._version, t._changed_at, c.author, c.message, t.old, t.new
       FROM table_changes($1, $2, $3) t LEFT JOIN commits c ON c.version = t._version
      WHERE ($4 = 'all' OR t._op = $4) AND ($5 = '' OR coalesce(t.old::text, '') || coalesce(t.new::text, '') ILIKE '%' || $5 || '%')
      ORDER BY t._version DESC LIMIT ${CHANGES_MAX}`,
    { parameters: [table.sql, from === "" ? "-infinity" : from, at ?? "infinity", only, text] },
  ), [table.sql, from, at, only, text]);
  return (
    <>
      <form class="filter-line" onSubmit={(event) => event.preventDefault()}>
        <label>from <input type="datetime-local" step="1" value={from === "" ? "" : local(from)} onChange={(event) => setParams({ from: event.currentTarget.value === "" ? null : new Date(event.currentTarget.value).toISOString() })} /></label>
        <span>to {at === null ? "now" : dateTime(at)}</span>
        <Choice label="Kind of change" value={only} of={[["all", "all"], ["insert", "added"], ["update", "changed"], ["delete", "removed"]]} onChange={setOnly} />
        <label>with <input value={text} placeholder="text in the row" onInput={(event) => setText(event.currentTarget.value)} /></label>
        <span class="muted" role="status">{busy ? "…" : plural(value?.rows.length ?? 0, "change")}{value?.rows.length === CHANGES_MAX && ", the newest"}</span>
      </form>
      {error !== null && <Wrong error={error} />}
      <ol class="table-changes">
        {value?.rows.map((row, number) => {
          const [op, version, time, author, message, old, now] = row;
          return (
            <li key={number} class={String(op)}>
              <div class="small"><span class="op">{op === "insert" ? "added" : op === "delete" ? "removed" : "changed"}</span> <time>{time ? dateTime(cellText(time)) : ""}</time> <span class="muted">commit {cellText(version ?? null)}</span> {author ? <Author name={String(author)} /> : null} {message ? <span class="muted"><Text of={String(message)} max={100} /></span> : null}</div>
              <RowDiff old={old ?? null} now={now ?? null} />
            </li>
          );
        })}
      </ol>
    </>
  );
}

/** The columns of a row before and after; those that stayed are told once. */
function RowDiff({ old, now }: { old: Json; now: Json }): JSX.Element {
  const fields = (row: Json): [string, Json][] => (row !== null && typeof row === "object" && !Array.isArray(row) ? Object.entries(row) as [string, Json][] : []);
  const before = new Map(fields(old));
  const after = new Map(fields(now));
  return (
    <p class="row-diff">
      {[...new Set([...before.keys(), ...after.keys()])].map((name) => {
        const [a, b] = [before.get(name), after.get(name)];
        const is_same = a !== undefined && b !== undefined && write(a) === write(b);
        return (
          <span key={name} class="field"><span class="name"><Text of={name} /></span>{" "}
            {is_same ? <Text of={cellText(b ?? null)} max={80} /> : <>{a !== undefined && <del><Text of={cellText(a)} max={80} /></del>}{a !== undefined && b !== undefined && " → "}{b !== undefined && <ins><Text of={cellText(b)} max={80} /></ins>}</>}
          </span>
        );
      })}
    </p>
  );
}
