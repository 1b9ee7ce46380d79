// The history of one node: each value it had, who gave it, how long it stood; and the way to put one back.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Failure, api } from "../api";
import { write } from "../exact";
import { count, dateTime, duration, plural } from "../format";
import { may } from "../session";
import { Author, Button, CopyButton, Empty, Text, Wrong, useLoaded } from "../ui/kit";
import { VirtualRows } from "../ui/rows";
import type { NodeVersion } from "../types";
import { Scalar } from "./changes";
import { lazy } from "./lazy";
import { PutBackDialog, type PutBack } from "./revert";
import type { DocState } from "./state";

const Plot = lazy(async () => (await import("./plot")).Plot);

const RUN_ROW = 76;

export function NodePanel({ state, node }: { state: DocState; node: number }): JSX.Element {
  const [putBack, setPutBack] = useState<PutBack | null>(null);
  const cursor = state.cursor.value;
  const at = useLoaded(() => place(state, node, cursor), [node, cursor]);
  const isContainer = at.value?.children !== undefined;
  const isKnown = at.value !== null || at.error !== null;
  const mayChange = may("modify", state.collection);
  const path = at.value?.path ?? null;
  return (
    <aside class="panel" aria-label="History of a node">
      <header>
        <h2><code>{path === null ? `node ${node}` : <Text of={path} max={200} />}</code></h2>
        {path !== null && <CopyButton text={path} label="Copy the path" />}
        <Button kind="quiet" label="Close" onClick={() => state.select(null)}>✕</Button>
      </header>
      {at.error !== null && (at.error instanceof Failure && at.error.status === 404
        ? <p class="muted">It is not part of revision {count(cursor)}.</p>
        : <Wrong error={at.error} />)}
      {isContainer && at.value && (
        <>
          <p>{plural(at.value.children ?? 0, "child", "children")} at revision {count(cursor)}.</p>
          {mayChange && !state.isNewest && at.value.path !== "$" && <Button kind="main" onClick={() => setPutBack({ node, path, revision: cursor })}>Put this part back as it is here…</Button>}
          <p class="muted small">Pick a field inside to see each value it had.</p>
        </>
      )}
      {isKnown && !isContainer && <Values key={node} state={state} node={node} mayChange={mayChange} onPutBack={(revision) => setPutBack({ node, path, revision })} />}
      {putBack && <PutBackDialog state={state} wanted={putBack} onClose={() => setPutBack(null)} />}
    </aside>
  );
}

interface Place {
  path: string;
  children?: number;
}

/** Where a node is at a revision. The answer has no more than its first row, however large it is. */
async function place(state: DocState, node: number, revision: number): Promise<Place> {
  const outline = await api.outline(state.collection, state.key, { node_key: node, revision, rows: 1000, depth: 0, text_max: 1000 });
  const at = outline.rows.findIndex((row) => row.node_key === node);
  const row = outline.rows[at];
  if (row?.children !== undefined) return { path: pathIn(outline.rows, at), children: row.children };
  return { path: pathIn(outline.rows, at) };
}

/** The path of a row, by the rows above it. */
function pathIn(rows: { depth: number; name?: string; index?: number }[], at: number): string {
  const steps: string[] = [];
  let depth = Infinity;
  for (let row = at; row >= 0; row--) {
    const each = rows[row];
    if (!each || each.depth >= depth) continue;
    depth = each.depth;
    if (each.name !== undefined) steps.unshift(/^[A-Za-z_]\w*$/.test(each.name) ? `.${each.name}` : `[${JSON.stringify(each.name)}]`);
    else if (each.index !== undefined) steps.unshift(`[${each.index}]`);
  }
  return `$${steps.join("")}`;
}

interface Often {
  value: string;
  revisions: number;
  ms: number;
  from: NodeVersion;
  last: NodeVersion;
}

/** How often each value was there: over how many revisions, and for how long. */
function counted(runs: NodeVersion[], newest: number): Often[] {
  const found = new Map<string, Often>();
  runs.forEach((run, at) => {
    const value = write(run.value);
    const end = run.to_revision ?? newest;
    const next = runs[at + 1];
    const until = next && run.to_revision === next.from_revision - 1 ? timeFrom(next) : run.to_time ? Date.parse(run.to_time) : Date.now();
    const known = found.get(value) ?? { value, revisions: 0, ms: 0, from: run, last: run };
    known.revisions += end - run.from_revision + 1;
    known.ms += Math.max(0, until - timeFrom(run));
    known.last = run;
    found.set(value, known);
  });
  return [...found.values()].sort((a, b) => b.revisions - a.revisions || b.ms - a.ms);
}

function timeFrom(run: NodeVersion): number {
  return Date.parse(run.authored ?? run.from_time);
}

function Values({ state, node, mayChange, onPutBack }: { state: DocState; node: number; mayChange: boolean; onPutBack: (revision: number) => void }): JSX.Element {
  const newest = state.history.density.value?.newest?.revision ?? 0;
  const { value: runs, error, busy } = useLoaded(() => api.nodeHistory(state.collection, state.key, { node_key: node }), [node, newest]);
  const [wanted, setWanted] = useState("");
  const often = useMemo(() => (runs ? counted(runs, newest) : []), [runs, newest]);
  const isNumber = runs !== null && runs.length > 1 && runs.every((run) => typeof run.value === "number");
  const shown = useMemo(() => {
    const all = [...(runs ?? [])].reverse();
    const text = wanted.trim().toLowerCase();
    if (text === "") return all;
    const whole = all.filter((run) => write(run.value).toLowerCase() === text || (typeof run.value === "string" && run.value.toLowerCase() === text));
    return whole.length > 0 ? whole : all.filter((run) => write(run.value).toLowerCase().includes(text));
  }, [runs, wanted]);
  if (error !== null) return <Wrong error={error} />;
  if (runs === null) return <div class="loading" aria-busy={busy} />;
  const top = often[0];
  return (
    <>
      <p class="summary">{plural(often.length, "value")} over {plural(newest, "revision")}{runs.length !== often.length && <>, changed {plural(Math.max(0, runs.length - 1), "time")}</>}.</p>
      {top && often.length > 1 && (
        <p class="most"><span class="label">Most often</span> <Scalar value={top.from.value} max={60} /><br />
          <span class="muted small">in {count(top.revisions)} of {plural(newest, "revision")}, for {duration(top.ms)}, first in revision {count(top.from.from_revision)}</span></p>
      )}
      {isNumber && <Plot runs={runs} byTime={state.byTime.value} newest={newest} cursor={state.cursor.value} onPick={(revision) => state.move(revision)} />}
      {runs.length > 3 && (
        <label class="filter">When was it <input value={wanted} placeholder="a value" onInput={(event) => setWanted(event.currentTarget.value)} /></label>
      )}
      {shown.length === 0 ? <Empty>It never had this value.</Empty> : (
        <VirtualRows total={shown.length} rowHeight={RUN_ROW} attributes={{ class: "runs", role: "list", "aria-label": "Values, newest first", tabIndex: 0 }}>
          {(first, many) => shown.slice(first, first + many).map((run) => {
            const isCurrent = run.to_revision === null;
            const last = run.to_revision ?? newest;
            const here = state.cursor.value >= run.from_revision && state.cursor.value <= last;
            return (
              <div key={`${run.node_key}/${run.from_revision}`} role="listitem" class={`run${here ? " here" : ""}`}>
                <div class="run-value">
                  <button type="button" class="link" title={`Go to revision ${run.from_revision}`} onClick={() => state.move(run.from_revision)}><Scalar value={run.value} max={60} /></button>
                  {mayChange && !isCurrent && <Button kind="quiet" onClick={() => onPutBack(run.from_revision)}>Put back…</Button>}
                  {isCurrent && <span class="badge">now</span>}
                </div>
                <div class="run-by small"><Author name={run.author} /> <time>{dateTime(run.authored ?? run.from_time)}</time>
                  <span class="muted">{run.from_revision === last ? `revision ${count(last)}` : `revisions ${count(run.from_revision)}–${count(last)}`}</span></div>
                <div class="run-message small muted"><Text of={run.message} max={70} /></div>
              </div>
            );
          })}
        </VirtualRows>
      )}
    </>
  );
}
