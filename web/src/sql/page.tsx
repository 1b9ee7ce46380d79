// SQL: a statement, its rows as a table, a chart or JSON, its plan as a tree.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure, api } from "../api";
import { count, dateTime, duration, plural } from "../format";
import { param, setParams } from "../route";
import { maySql, moment } from "../session";
import type { Rows } from "../types";
import { Editor } from "../ui/editor";
import { Grid, csv, objects } from "../ui/grid";
import { Button, Choice, Empty, Wrong, download, useLoaded } from "../ui/kit";
import { lazy } from "../document/lazy";
import { PlanView, planOf, type Plan } from "./plan";

const Chart = lazy(async () => (await import("./chart")).Chart);

const COLUMNS = `SELECT n.nspname, c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'm', 'v') AND a.attnum > 0 AND NOT a.attisdropped AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  ORDER BY 1, 2, a.attnum LIMIT 20000`;

/** Statements that can be explained. */
const EXPLAINED = /^\s*(select|with|insert|update|delete|merge|values|table)\b/i;

type Form = "table" | "chart" | "json";

interface Done {
  rows: Rows | null;
  plan: Plan | null;
  ms: number;
}

async function schema(): Promise<Record<string, string[]>> {
  const { rows } = await api.sql(COLUMNS);
  const found: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  for (const row of rows) {
    const [space, table, column] = row.map(String);
    const name = space === "public" ? table ?? "" : `${space}.${table}`;
    (found[name] ??= []).push(column ?? "");
  }
  return found;
}

export function SqlPage(): JSX.Element {
  const at = moment.value;
  const text = useRef(param("q") ?? "SELECT * FROM pg_tables WHERE schemaname = 'public'");
  const [form, setForm] = useState<Form>("table");
  const [done, setDone] = useState<Done | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [running, setRunning] = useState<AbortController | null>(null);
  const names = useLoaded(schema, []);
  useEffect(() => () => running?.abort(), [running]);
  if (!maySql.value) return <main tabIndex={-1} id="main"><Empty>This token may not run SQL: that takes all rights and a role of SQL.</Empty></main>;

  const run = async (explain: boolean) => {
    running?.abort();
    const cancel = new AbortController();
    setRunning(cancel);
    setError(null);
    setParams({ q: text.current });
    const begun = performance.now();
    const statement = text.current.trim().replace(/;\s*$/, "");
    try {
      const sql = explain ? `EXPLAIN (FORMAT JSON, ANALYZE ${/^\s*select|^\s*values|^\s*table/i.test(statement) ? "true" : "false"}) ${statement}` : statement;
      const rows = await api.sql(sql, { timestamp: at, signal: cancel.signal });
      const plan = explain ? planOf(rows) : null;
      setDone({ rows: plan ? null : rows, plan, ms: performance.now() - begun });
    } catch (failure) {
      if (!(failure instanceof DOMException && failure.name === "AbortError")) setError(failure);
      else setError(new Error("The statement was cancelled. Nothing has changed."));
    }
    setRunning(null);
  };
  const position = error instanceof Failure && error.sqlstate ? ` (${error.sqlstate})` : "";
  return (
    <main tabIndex={-1} id="main" class="sql-page">
      <h1 class="visually-hidden">SQL</h1>
      <Editor language="sql" text={text.current} label="A statement of SQL" schema={names.value ?? undefined} onChange={(next) => { text.current = next; }} onRun={() => void run(false)} />
      <div class="sql-bar">
        <Button kind="main" disabled={running !== null} onClick={() => void run(false)} title="Ctrl-Enter">Run</Button>
        <Button disabled={running !== null || !EXPLAINED.test(text.current)} onClick={() => void run(true)}>Explain</Button>
        {running && <Button kind="danger" onClick={() => running.abort()}>Cancel</Button>}
        <span class="muted" role="status">
          {running ? "running…" : done && `${done.rows ? done.rows.rows.length > 0 || done.rows.count === null ? plural(done.rows.rows.length, "row") : `${done.rows.command} ${count(done.rows.count)}` : "plan"} in ${duration(done.ms)}`}
          {at !== null && ` as of ${dateTime(at)}: nothing can be changed`}
        </span>
        {done?.rows && done.rows.columns.length > 0 && <>
          <Choice<Form> label="Form of the rows" value={form} of={[["table", "Table"], ["chart", "Chart"], ["json", "JSON"]]} onChange={setForm} />
          <Button kind="quiet" onClick={() => done.rows && download("rows.csv", "text/csv", csv(done.rows))}>CSV</Button>
          <Button kind="quiet" onClick={() => done.rows && download("rows.json", "application/json", objects(done.rows))}>JSON file</Button>
        </>}
      </div>
      {error !== null && <div><Wrong error={error} />{position !== "" && <p class="muted small">SQLSTATE{position}</p>}</div>}
      <div class="sql-result">
        {done?.plan && <PlanView plan={done.plan} />}
        {done?.rows && (done.rows.columns.length === 0 ? <Empty>{done.rows.command}: done.</Empty>
          : form === "table" ? <Grid rows={done.rows} label="Rows of the statement" />
          : form === "chart" ? <Chart rows={done.rows} />
          : <Editor key={done.ms} language="json" readOnly text={objects(done.rows)} label="Rows as JSON" />)}
      </div>
    </main>
  );
}
