// The history of one node: each value it had, who gave it, how long it stood; and the way to put one back.

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Failure, api } from "../api";
import { count, dateTime, duration, plural } from "../format";
import { may } from "../session";
import { Author, Button, CopyButton, Empty, Text, Wrong, useLoaded } from "../ui/kit";
import { VirtualRows } from "../ui/rows";
import type { ContainerVersion, NodeChanges, NodeHistory, NodeVersion } from "../types";
import { ChangeList, Scalar } from "./changes";
import { lazy } from "./lazy";
import type { Point } from "./plot";
import { PutBackDialog, type PutBack } from "./revert";
import type { DocState } from "./state";

const Plot = lazy(async () => (await import("./plot")).Plot);

const RUN_ROW = 76;
/** Versions of one request. */
const PAGE = 200;
const INSIDE_PAGE = 20;
/** Changes that are shown of one version of a container. */
const INSIDE_CHANGES = 6;
/** How long the reader must rest before a filter is asked for. */
const TYPED_MS = 250;

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
          <Inside key={node} state={state} node={node} />
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

interface Page<V> {
  versions: V[];
  earlier?: number | null;
}

/** A history in pages: the newest versions first, earlier ones when they are wanted. `name` tells two histories apart. */
function usePages<V, P extends Page<V>>(name: string, ask: (before: number | null) => Promise<P>): {
  versions: V[] | null; page: P | null; error: unknown; busy: boolean; more: (() => void) | null;
} {
  const { value: page, error, busy } = useLoaded(() => ask(null), [name]);
  const [rest, setRest] = useState<{ of: P | null; versions: V[]; earlier: number | null }>({ of: null, versions: [], earlier: null });
  const [asked, setAsked] = useState<number | null>(null);
  const known = page !== null && rest.of === page ? rest : { of: page, versions: [], earlier: page?.earlier ?? null };
  const before = known.earlier;
  const more = before === null ? null : () => {
    if (asked === before) return;
    setAsked(before);
    ask(before).then(
      (next) => setRest({ of: page, versions: [...next.versions, ...known.versions], earlier: next.earlier ?? null }),
      () => setAsked(null),
    );
  };
  const versions = useMemo(() => (page === null ? null : [...known.versions, ...page.versions].reverse()), [page, rest]);
  return { versions, page, error, busy, more };
}

/** The revisions over which a version held. */
function span(run: { from_revision: number; to_revision: number | null }, newest: number): string {
  const last = run.to_revision ?? newest;
  return run.from_revision === last ? `revision ${count(last)}` : `revisions ${count(run.from_revision)}–${count(last)}`;
}

/** The changes of each version inside of a container, newest first. */
function Inside({ state, node }: { state: DocState; node: number }): JSX.Element {
  const { versions, error, busy, more } = usePages<ContainerVersion, NodeChanges>(
    `${node}/${state.newest}`, (before) => api.nodeChanges(state.collection, state.key, { node_key: node, limit: INSIDE_PAGE, before }));
  const newest = state.newest;
  if (error !== null) return <Wrong error={error} />;
  if (versions === null) return <div class="loading" aria-busy={busy} />;
  return (
    <div class="inside" role="list" aria-label="Changes inside, newest first">
      {versions.map((version) => (
        <div key={version.from_revision} role="listitem" class={`inside-version${state.cursor.value >= version.from_revision && state.cursor.value <= (version.to_revision ?? newest) ? " here" : ""}`}>
          <div class="run-by small"><button type="button" class="link" onClick={() => state.move(version.from_revision)}>revision {count(version.from_revision)}</button> <Author name={version.author} /> <time>{dateTime(version.authored ?? version.from_time)}</time></div>
          <div class="run-message small muted"><Text of={version.message} max={70} /></div>
          {version.is_new ? <p class="muted small">It was added.</p> : <ChangeList changes={version.changes} max={INSIDE_CHANGES} />}
          {version.changes_total > version.changes.length && version.changes.length <= INSIDE_CHANGES && <p class="muted small">{count(version.changes_total)} changes in all</p>}
        </div>
      ))}
      {more !== null && <Button onClick={more}>Earlier changes</Button>}
    </div>
  );
}

function points(numbers: unknown[] | null | undefined): Point[] | null {
  if (!numbers || numbers.length < 2) return null;
  return numbers.map((each) => {
    const [revision, value, time] = each as [number, number, string];
    return { revision, value, time };
  });
}

/** A text, once it has not changed for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

function Values({ state, node, mayChange, onPutBack }: { state: DocState; node: number; mayChange: boolean; onPutBack: (revision: number) => void }): JSX.Element {
  const newest = state.newest;
  const [wanted, setWanted] = useState("");
  const having = useSettled(wanted.trim());
  const { versions: shown, page, error, busy, more } = usePages<NodeVersion, NodeHistory>(
    `${node}/${newest}/${having}`, (before) => api.nodeHistory(state.collection, state.key, { node_key: node, limit: PAGE, summary: before === null, having, before }));
  const summary = page?.summary;
  const plotted = useMemo(() => points(summary?.numbers), [summary]);
  if (error !== null) return <Wrong error={error} />;
  if (shown === null || !summary) return <div class="loading" aria-busy={busy} />;
  const top = summary.most_often;
  const last = having === "" ? shown[0] : undefined;
  return (
    <>
      <p class="summary">{plural(summary.values, "value")} over {plural(newest, "revision")}{summary.versions !== summary.values && <>, changed {plural(Math.max(0, summary.versions - 1), "time")}</>}.</p>
      {top && summary.values > 1 && (
        <p class="most"><span class="label">Most often</span> <Scalar value={top.value} max={60} /><br />
          <span class="muted small">in {count(top.revisions)} of {plural(newest, "revision")}, for {duration(top.micros / 1000)}, first in revision {count(top.from_revision)}</span></p>
      )}
      {plotted && <Plot points={plotted} end={{ revision: last?.to_revision ?? newest, time: last?.to_time ?? null }} byTime={state.byTime.value} cursor={state.cursor.value} onPick={(revision) => state.move(revision)} />}
      {summary.versions > 3 && (
        <label class="filter">When was it <input value={wanted} placeholder="a value" onInput={(event) => setWanted(event.currentTarget.value)} /></label>
      )}
      {shown.length === 0 ? <Empty>It never had this value.</Empty> : (
        <VirtualRows total={shown.length} rowHeight={RUN_ROW} attributes={{ class: "runs", role: "list", "aria-label": "Values, newest first", tabIndex: 0 }}>
          {(first, many) => shown.slice(first, first + many).map((run) => {
            const isCurrent = run.to_revision === null;
            const here = state.cursor.value >= run.from_revision && state.cursor.value <= (run.to_revision ?? newest);
            return (
              <div key={`${run.node_key}/${run.from_revision}`} role="listitem" class={`run${here ? " here" : ""}`}>
                <div class="run-value">
                  <button type="button" class="link" title={`Go to revision ${run.from_revision}`} onClick={() => state.move(run.from_revision)}><Scalar value={run.value} max={60} /></button>
                  {mayChange && !isCurrent && <Button kind="quiet" onClick={() => onPutBack(run.from_revision)}>Put back…</Button>}
                  {isCurrent && <span class="badge">now</span>}
                </div>
                <div class="run-by small"><Author name={run.author} /> <time>{dateTime(run.authored ?? run.from_time)}</time>
                  <span class="muted">{span(run, newest)}</span></div>
                <div class="run-message small muted"><Text of={run.message} max={70} /></div>
              </div>
            );
          })}
        </VirtualRows>
      )}
      {more !== null && <Button onClick={more}>Earlier values</Button>}
    </>
  );
}
