// The document as a tree, of which the page holds the rows in view alone, and beside each row who last changed it.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failure, api } from "../api";
import { count, date, dateTime, plain, plural, timeOf } from "../format";
import { Author, Button, Empty, Text, Wrong, wordsOf } from "../ui/kit";
import { VirtualRows } from "../ui/rows";
import type { NodeVersion, OutlineRow } from "../types";
import type { DocState } from "./state";

/** The newest so many values tell when a path was there. */
const TIMES_MAX = 1_000;
const ROW = 24;

export function TreeView({ state }: { state: DocState }): JSX.Element {
  const { slices } = state;
  const slice = slices.slice.value;
  const [view, setView] = useState({ first: 0, count: 30 });
  const [active, setActive] = useState(0);
  const [reveal, setReveal] = useState<number | null>(null);
  const cursor = state.cursor.value;
  useEffect(() => slices.want(cursor, view.first, state.newest), [cursor, view.first, state.newest]);

  const error = slices.error.value;
  if (slice === null && error !== null) {
    return error instanceof Failure && error.status === 404
      ? <Empty>At this revision the document is removed. Earlier revisions show what it was.</Empty>
      : <><Wrong error={error} /><Button onClick={() => slices.again()}>Try again</Button></>;
  }
  if (slice === null) return <div class="loading" aria-busy="true" />;
  const rowAt = (at: number): OutlineRow | undefined => slice.rows[at - slice.row];
  const moveTo = (at: number) => {
    const next = Math.max(0, Math.min(slice.total - 1, at));
    setActive(next);
    setReveal(next);
  };
  const keys = (event: KeyboardEvent) => {
    const row = rowAt(active);
    const page = Math.max(1, view.count - 2);
    switch (event.key) {
      case "ArrowDown": moveTo(active + 1); break;
      case "ArrowUp": moveTo(active - 1); break;
      case "PageDown": moveTo(active + page); break;
      case "PageUp": moveTo(active - page); break;
      case "Home": moveTo(0); break;
      case "End": moveTo(slice.total - 1); break;
      case "ArrowRight":
        if (row?.open === false && (row.children ?? 0) > 0) slices.toggle(row.node_key);
        else if (row?.open) moveTo(active + 1);
        break;
      case "ArrowLeft":
        if (row?.open) slices.toggle(row.node_key);
        else {
          let above = active - 1;
          while (above > 0 && (rowAt(above)?.depth ?? 0) >= (row?.depth ?? 0)) above -= 1;
          moveTo(above);
        }
        break;
      case "Enter":
      case " ":
        if (row) state.select(row.node_key);
        break;
      default: return;
    }
    event.preventDefault();
  };
  return (
    <>
      <Find state={state} onFound={(row) => { setActive(row); setReveal(row); }} />
      <VirtualRows total={slice.total} rowHeight={ROW} reveal={reveal}
        onView={(first, shown) => setView({ first, count: shown })}
        attributes={{
          role: "tree", tabIndex: 0, class: `tree${state.blame.value ? " with-blame" : ""}`, onKeyDown: keys,
          "aria-label": `Tree of the document, ${plural(slice.nodes, "node")}`, "aria-activedescendant": rowAt(active) ? `row-${active}` : undefined,
        }}>
        {(first, shown) => Array.from({ length: shown }, (_, at) => {
          const number = first + at;
          const row = rowAt(number);
          if (!row) return <div key={number} class="row" role="presentation" />;
          return (
            <TreeRow key={row.node_key} state={state} row={row} before={rowAt(number - 1)} number={number} isActive={number === active}
              onPick={() => { setActive(number); state.select(row.node_key); }} />
          );
        })}
      </VirtualRows>
      <p class="foot muted small">
        {plural(slice.nodes, "node")}
        <label><input type="checkbox" checked={state.blame.value} onChange={(event) => { state.blame.value = event.currentTarget.checked; }} /> who last changed each row</label>
        {slice.revision !== cursor && <span aria-hidden="true">loading…</span>}
      </p>
    </>
  );
}

function TreeRow({ state, row, before, number, isActive, onPick }: {
  state: DocState;
  row: OutlineRow;
  before: OutlineRow | undefined;
  number: number;
  isActive: boolean;
  onPick: () => void;
}): JSX.Element {
  const slice = state.slices.slice.value;
  const version = state.slices.versions.get(row.changed);
  const isContainer = row.children !== undefined;
  const isSelected = state.selected.value === row.node_key;
  const isNew = row.changed === slice?.revision;
  return (
    <div id={`row-${number}`} class={`row${isActive ? " active" : ""}${isNew ? " fresh" : ""}`} role="treeitem" aria-level={row.depth + 1} aria-selected={isSelected}
      aria-expanded={isContainer && (row.children ?? 0) > 0 ? row.open : undefined} onClick={onPick}>
      <span class="cell" style={{ paddingLeft: `${row.depth * 18 + 4}px` }}>
        {isContainer && (row.children ?? 0) > 0
          ? <span class="twist" aria-hidden="true" onClick={(event) => { event.stopPropagation(); state.slices.toggle(row.node_key); }}>{row.open ? "▾" : "▸"}</span>
          : <span class="twist" aria-hidden="true" />}
        <span class="content"><Name row={row} /><Value row={row} /></span>
      </span>
      {state.blame.value && (
        <span class="blame" onClick={(event) => { event.stopPropagation(); if (row.changed >= 1) state.move(row.changed); }}
          title={version ? `Revision ${row.changed}, ${dateTime(timeOf(version))}, ${plain(version.author)}: ${plain(version.message).slice(0, 200)}` : undefined}>
          {version && row.changed !== before?.changed && <><Author name={version.author} /> <time>{date(timeOf(version))}</time> <span class="blame-revision">{count(row.changed)}</span></>}
        </span>
      )}
    </div>
  );
}

export function Name({ row }: { row: { name?: string; name_length?: number; index?: number } }): JSX.Element | null {
  if (row.name !== undefined) return <><span class="name"><Text of={row.name} max={200} />{row.name_length !== undefined && "…"}</span><span class="colon">: </span></>;
  if (row.index !== undefined) return <><span class="index">{row.index}</span><span class="colon"> </span></>;
  return null;
}

function Value({ row }: { row: OutlineRow }): JSX.Element {
  if (row.type === "object") return <span class="container">{row.open ? "{" : `{ ${plural(row.children ?? 0, "field")} }`}</span>;
  if (row.type === "array") return <span class="container">{row.open ? "[" : `[ ${plural(row.children ?? 0, "element")} ]`}</span>;
  const text = row.text ?? "";
  return (
    <span class={`value ${row.type}`}>
      {row.type === "string" && <span class="quote">"</span>}
      <Text of={text} />
      {row.text_length !== undefined ? <span class="cut">… {count(row.text_length)} characters</span> : row.type === "string" && <span class="quote">"</span>}
    </span>
  );
}

/** Finds a node by its path, and opens what is above it. */
function Find({ state, onFound }: { state: DocState; onFound: (row: number) => void }): JSX.Element {
  const [text, setText] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [times, setTimes] = useState<NodeVersion[]>([]);
  const find = async (event: Event) => {
    event.preventDefault();
    setError(null);
    setTimes([]);
    const path = pathOf(text);
    try {
      const { row, key } = await state.slices.reveal({ path });
      onFound(row);
      state.select(key);
    } catch (failure) {
      if (!(failure instanceof Failure && failure.status === 404)) setError(wordsOf(failure));
      else setTimes(await otherTimes(state, path).catch(() => (setError("it never had this path"), [])));
    }
  };
  const last = times[times.length - 1];
  return (
    <form class="find" onSubmit={(event) => void find(event)}>
      <label class="visually-hidden" for="find">Find a path</label>
      <input id="find" placeholder="path, such as limits.timeout_ms" value={text} onInput={(event) => setText(event.currentTarget.value)} aria-invalid={error !== null} />
      <Button type="submit">Find</Button>
      {error !== null && <span class="error small" role="alert">{error}</span>}
      {last && (
        <span class="small" role="status">not at this revision, but{" "}
          <Button kind="quiet" onClick={() => { state.move(last.to_revision ?? state.newest); setTimes([]); }}>
            {`in revisions ${count(times[0]?.from_revision ?? 1)}–${count(last.to_revision ?? state.newest)}`}
          </Button>
        </span>
      )}
    </form>
  );
}

/** The values that stood at a path at other revisions. */
async function otherTimes(state: DocState, path: string): Promise<NodeVersion[]> {
  return (await api.nodeHistory(state.collection, state.key, { path, limit: TIMES_MAX })).versions;
}

/** A path as the server reads it: people leave out the `$` in front. */
export function pathOf(text: string): string {
  const path = text.trim();
  if (path.startsWith("$") || path.startsWith("/")) return path;
  return path.startsWith("[") ? `$${path}` : `$.${path}`;
}
