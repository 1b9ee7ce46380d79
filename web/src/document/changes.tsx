// The difference of two revisions: inline or side by side, moves drawn as moves.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { api } from "../api";
import { count, plural } from "../format";
import { parse, write } from "../exact";
import { setParams } from "../route";
import { Button, Choice, Empty, Text, Wrong, useLoaded } from "../ui/kit";
import { TextCompare, comparesTexts } from "../ui/texts";
import type { Change, Diff, Json } from "../types";
import { fold, merge, readTree, type MergedRow, type TreeNode } from "./merge";
import { Name } from "./tree";
import type { DocState } from "./state";

const ROW = 24;
/** Documents with more nodes are compared as a list of changes. */
const NODES_MAX = 60_000;
const ROWS_MAX = 3_000;
/** Longer texts are not compared line by line. */
const TEXT_BYTES_MAX = 4 << 20;

interface Compared {
  diff: Diff;
  before: TreeNode | null;
  after: TreeNode | null;
}

export function ChangesView({ state }: { state: DocState }): JSX.Element {
  const to = state.cursor.value;
  const from = state.compare.value ?? Math.max(1, to - 1);
  const [form, setForm] = useState<"inline" | "sides">(matchMedia("(min-width: 1100px)").matches ? "sides" : "inline");
  const [look, setLook] = useState<"nodes" | "text">("nodes");
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const { value, error, busy } = useLoaded(() => load(state, from, to), [from, to]);
  const rows = useMemo(() => (value?.before && value.after ? merge(value.before, value.after, value.diff.changes) : null), [value]);
  const shown = useMemo(() => (rows ? fold(rows, open) : []), [rows, open]);
  const changes = value?.diff.changes ?? [];
  return (
    <div class="changes">
      <div class="changes-head">
        <Between state={state} from={from} to={to} />
        <span class="muted" role="status">{busy && value === null ? "comparing…" : plural(changes.length, "change")}</span>
        {comparesTexts && <Choice label="Compare" value={look} of={[["nodes", "Nodes"], ["text", "Lines"]]} onChange={setLook} />}
        <Choice label="Form" value={form} of={[["inline", "Inline"], ["sides", "Side by side"]]} onChange={setForm} />
      </div>
      {error !== null && <Wrong error={error} />}
      {value !== null && changes.length === 0 && <Empty>The two revisions are equal.</Empty>}
      {look === "text" && changes.length > 0 && <Texts key={`${from}/${to}`} state={state} from={from} to={to} form={form} />}
      {look === "nodes" && changes.length > 0 && (rows && shown.length <= ROWS_MAX
        ? <Merged state={state} rows={shown} form={form} onOpen={(at) => setOpen(new Set([...open, at]))} />
        : <ChangeList changes={changes} />)}
    </div>
  );
}

async function load(state: DocState, from: number, to: number): Promise<Compared> {
  const { collection, key } = state;
  const diff = await api.diff(collection, key, from, to);
  const slice = state.slices.slice.value ?? await api.outline(collection, key, { revision: to, rows: 1 }).catch(() => null);
  if (diff.changes.length === 0 || slice === null || slice.nodes > NODES_MAX) return { diff, before: null, after: null };
  try {
    const [before, after] = await Promise.all([api.tree(collection, key, from), api.tree(collection, key, to)]);
    return { diff, before: readTree(before), after: readTree(after) };
  } catch {
    // One of them is removed: the list of changes says so.
    return { diff, before: null, after: null };
  }
}

/** The two revisions as texts. */
function Texts({ state, from, to, form }: { state: DocState; from: number; to: number; form: "inline" | "sides" }): JSX.Element {
  const { value, error } = useLoaded(async () => {
    const texts = await Promise.all([from, to].map((revision) => api.text(state.collection, state.key, { revision })));
    if (texts.some(({ text }) => text.length > TEXT_BYTES_MAX)) return [];
    return texts.map(({ text }) => write(parse(text), 2));
  }, [from, to]);
  if (error !== null) return <Wrong error={error} />;
  if (value === null) return <div class="loading" aria-busy="true" />;
  const [before, after] = value;
  if (before === undefined || after === undefined) return <p>These versions are too long to be compared as text.</p>;
  return <div class="texts"><TextCompare before={before} after={after} form={form} labels={[`Revision ${from}`, `Revision ${to}`]} /></div>;
}

/** Which two revisions are compared; the reader can change both. */
function Between({ state, from, to }: { state: DocState; from: number; to: number }): JSX.Element {
  void state.history.loaded.value;
  const options = [...new Map(state.flags.value.map((run) => [run.from_revision, run])).values()];
  const pick = (text: string) => {
    const revision = Number(text);
    if (Number.isInteger(revision) && revision >= 1 && revision <= state.newest) setParams({ view: "changes", compare: revision, rev: state.cursor.value });
  };
  return (
    <div class="between">
      <label>from revision <input type="number" min={1} max={state.newest} value={from} onChange={(event) => pick(event.currentTarget.value)} /></label>
      <label>to <input type="number" min={1} max={state.newest} value={to} onChange={(event) => { setParams({ compare: from }); state.move(Number(event.currentTarget.value) || to); }} /></label>
      {state.compare.value !== null && <Button kind="quiet" onClick={() => setParams({ compare: null })} title="Compare with the revision before">one step</Button>}
      {options.length > 1 && (
        <label>releases
          <select value="" onChange={(event) => {
            const [a, b] = event.currentTarget.value.split(",").map(Number);
            if (!a || !b) return;
            setParams({ view: "changes", compare: a, rev: b });
            state.move(b);
          }}>
            <option value="">compare two…</option>
            {options.slice(1).map((run, at) => {
              const before = options[at];
              if (!before) return null;
              return <option key={run.from_revision} value={`${before.from_revision},${run.from_revision}`}>{`${show(before.value)} → ${show(run.value)}`}</option>;
            })}
          </select>
        </label>
      )}
    </div>
  );
}

function show(value: Json): string {
  return typeof value === "string" ? value.slice(0, 30) : write(value).slice(0, 30);
}

const MARKS: Record<MergedRow["status"], string> = { same: " ", within: " ", insert: "+", delete: "−", update: "~", rename: "=", move: "↦", gone: "↤" };
const WORDS: Record<MergedRow["status"], string> = { same: "unchanged", within: "unchanged", insert: "added", delete: "removed", update: "changed", rename: "renamed", move: "moved here", gone: "moved away" };

function Merged({ state, rows, form, onOpen }: { state: DocState; rows: MergedRow[]; form: "inline" | "sides"; onOpen: (at: number) => void }): JSX.Element {
  const sides = form === "sides";
  return (
    <div class={`merged ${form}`} role="table" aria-label="Changes" tabIndex={0}>
      <Moves rows={rows} sides={sides} />
      {rows.map((row, at) => {
        if (row.folded > 0) {
          return (
            <div key={at} class="merged-row fold" role="row">
              <span role="cell"><button type="button" onClick={() => onOpen(Number(row.from))}>⋯ {plural(row.folded, "unchanged row")}</button></span>
            </div>
          );
        }
        const node = row.new ?? row.old;
        const pick = () => node && state.select(node.key);
        return (
          <div key={at} class={`merged-row ${row.status}`} role="row" onClick={pick}>
            <span class="mark" role="cell" title={WORDS[row.status]}><span aria-hidden="true">{MARKS[row.status]}</span><span class="visually-hidden">{WORDS[row.status]}</span></span>
            {sides
              ? <>
                  <span class="side old" role="cell">{row.old && row.status !== "move" && <NodeText node={row.old} depth={row.depth} />}</span>
                  <span class="side new" role="cell">{row.new && <><NodeText node={row.new} depth={row.depth} /><From row={row} /></>}</span>
                </>
              : <span class="side" role="cell">{node && <InlineText row={row} />}</span>}
          </div>
        );
      })}
    </div>
  );
}

function From({ row }: { row: MergedRow }): JSX.Element | null {
  if (row.from === null || (row.status !== "move" && row.status !== "rename")) return null;
  return <span class="from">{row.status === "move" ? "moved from" : "renamed from"} <Text of={row.from} max={80} /></span>;
}

function InlineText({ row }: { row: MergedRow }): JSX.Element {
  const node = row.new ?? row.old;
  if (!node) return <></>;
  const changed = row.old && row.new && row.old.value !== undefined && write(row.old.value) !== write(row.new.value ?? null);
  return (
    <>
      <span class="indent" style={{ paddingLeft: `${row.depth * 18}px` }} />
      <Name row={{ name: node.name ?? undefined, index: node.index ?? undefined }} />
      {changed && row.old?.value !== undefined && <><del><Scalar value={row.old.value} /></del> <span class="arrow" aria-hidden="true">→</span> </>}
      {changed && row.new?.value !== undefined ? <ins><Scalar value={row.new.value} /></ins> : <Content node={node} />}
      <From row={row} />
    </>
  );
}

function NodeText({ node, depth }: { node: TreeNode; depth: number }): JSX.Element {
  return (
    <>
      <span class="indent" style={{ paddingLeft: `${depth * 18}px` }} />
      <Name row={{ name: node.name ?? undefined, index: node.index ?? undefined }} />
      <Content node={node} />
    </>
  );
}

function Content({ node }: { node: TreeNode }): JSX.Element {
  if (node.value !== undefined) return <Scalar value={node.value} />;
  if (node.children.length === 0) return <span class="container">{"{ }"}</span>;
  return <span class="container">{node.isArray ? "[" : "{"}</span>;
}

/** A value in one line. */
export function Scalar({ value, max = 160 }: { value: Json; max?: number }): JSX.Element {
  if (typeof value === "string") return <span class="value string"><span class="quote">"</span><Text of={value} max={max} /><span class="quote">"</span></span>;
  const kind = value === null ? "null" : typeof value === "boolean" ? "boolean" : typeof value === "number" ? "number" : "container";
  return <span class={`value ${kind}`}><Text of={write(value)} max={max} /></span>;
}

/** Curves from the place that a node had to the one that it has. */
function Moves({ rows, sides }: { rows: MergedRow[]; sides: boolean }): JSX.Element | null {
  const places = new Map<number, { from?: number; to?: number }>();
  rows.forEach((row, at) => {
    const key = row.status === "gone" ? row.old?.key : row.status === "move" ? row.new?.key : undefined;
    if (key === undefined) return;
    const place = places.get(key) ?? {};
    if (row.status === "gone") place.from ??= at;
    else place.to ??= at;
    places.set(key, place);
  });
  const moves = [...places.values()].filter((place): place is { from: number; to: number } => place.from !== undefined && place.to !== undefined).slice(0, 60);
  if (moves.length === 0) return null;
  const y = (at: number) => at * ROW + ROW / 2;
  return (
    <svg class={`moves ${sides ? "between-sides" : "in-margin"}`} width="44" height={rows.length * ROW} aria-hidden="true">
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" class="arrow-head" /></marker></defs>
      {moves.map(({ from, to }, at) => {
        const path = sides
          ? `M2 ${y(from)} C 26 ${y(from)}, 18 ${y(to)}, 42 ${y(to)}`
          : `M42 ${y(from)} C ${14 - (at % 4) * 4} ${y(from)}, ${14 - (at % 4) * 4} ${y(to)}, 42 ${y(to)}`;
        return <path key={at} d={path} class="move-path" marker-end="url(#arrow)" />;
      })}
    </svg>
  );
}

/** The changes of a document that is too large to be drawn, or of one that came or went. */
export function ChangeList({ changes, max = 500 }: { changes: Change[]; max?: number }): JSX.Element {
  return (
    <ul class="change-list">
      {changes.slice(0, max).map((change, at) => (
        <li key={at} class={change.op}>
          <span class="op">{OPS[change.op]}</span> <code><Text of={change.path} max={120} /></code>{" "}
          {change.op === "move" || change.op === "rename" ? <span class="from">from <Text of={change.from ?? String(change.old ?? "")} max={120} /></span> : <>
            {change.old !== undefined && <del><Scalar value={change.old} max={80} /></del>}
            {change.old !== undefined && change.new !== undefined && " → "}
            {change.new !== undefined && <ins><Scalar value={change.new} max={80} /></ins>}
          </>}
        </li>
      ))}
      {changes.length > max && <li class="muted">and {count(changes.length - max)} more</li>}
    </ul>
  );
}

const OPS: Record<Change["op"], string> = { insert: "added", update: "changed", delete: "removed", move: "moved", rename: "renamed", replace: "replaced" };
