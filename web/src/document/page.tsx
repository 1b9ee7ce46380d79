// The page of a document: its time axis, the document at the revision in view, and what the reader asks about it.

import type { JSX } from "preact";
import { lazy } from "./lazy";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Failure } from "../api";
import { count, dateTime, timeOf } from "../format";
import { may, moment } from "../session";
import { href } from "../route";
import { Author, Button, Choice, Empty, Text, Wrong } from "../ui/kit";
import { Icon } from "../ui/icon";
import { Axis, headline } from "./axis";
import { ChangesView } from "./changes";
import { DocState, type View } from "./state";
import { TreeView, pathOf } from "./tree";
import { Versions } from "./versions";
import { NodePanel } from "./node";
import { RevertDialog } from "./revert";

const TextView = lazy(async () => (await import("./text")).TextView);
const EditDialog = lazy(async () => (await import("./edit")).EditDialog);

const VIEWS: readonly (readonly [View, string])[] = [["tree", "Tree"], ["text", "Text"], ["changes", "Changes"]];

export function DocumentPage({ collection, docKey }: { collection: string; docKey: string }): JSX.Element {
  const state = useMemo(() => new DocState(collection, docKey), []);
  const [dialog, setDialog] = useState<"edit" | "revert" | null>(null);
  useEffect(() => {
    void state.start();
    return () => state.stop();
  }, []);
  const error = state.history.error.value;
  if (state.newest === 0 || state.cursor.value === 0) {
    return (
      <main tabIndex={-1} id="main" aria-busy={error === null}>
        <Crumbs state={state} />
        {error instanceof Failure && error.status === 404 ? <Empty>There is no document with this key in this collection.</Empty> : error !== null && <Wrong error={error} />}
      </main>
    );
  }
  const view = state.view.value;
  const mayChange = may("modify", collection);
  const removed = state.history.version(state.cursor.value)?.deleted ?? false;
  return (
    <main tabIndex={-1} id="main" class="doc">
      <div class="doc-head">
        <Crumbs state={state} />
        <Choice label="View" value={view} of={VIEWS} onChange={(next) => state.show(next)} />
        <div class="actions">
          {mayChange && !state.isNewest && <Button onClick={() => setDialog("revert")} title="Make this revision the newest again, after a preview">Go back to this…</Button>}
          {mayChange && state.isNewest && !removed && <Button onClick={() => setDialog("edit")}>Edit…</Button>}
        </div>
      </div>
      <Axis history={state.history} cursor={state.cursor.value} compare={view === "changes" ? state.compare.value ?? Math.max(1, state.cursor.value - 1) : null} byTime={state.byTime.value}
        flags={state.flags.value} onMove={(revision) => { state.pause(); state.move(revision); }} onPlay={() => state.play()} />
      <Strip state={state} />
      {state.news.value !== null && (
        <div class="banner news" role="status">
          <Author name={state.news.value.author} /> made revision {state.news.value.revision}{state.news.value.message && <>: <Text of={state.news.value.message} max={120} /></>}
          <Button kind="quiet" onClick={() => { const at = state.news.value?.revision ?? 1; state.news.value = null; state.move(at); state.show("changes", null); }}>Show what changed</Button>
          <Button kind="quiet" label="Dismiss" onClick={() => { state.news.value = null; }}>✕</Button>
        </div>
      )}
      <div class={`doc-body${state.selected.value !== null && view !== "text" ? " with-panel" : ""}`}>
        <Versions state={state} />
        <section class="doc-view" aria-label={`The document at revision ${state.cursor.value}`}>
          {view === "tree" && <TreeView state={state} />}
          {view === "text" && <TextView state={state} />}
          {view === "changes" && <ChangesView state={state} />}
        </section>
        {state.selected.value !== null && view !== "text" && <NodePanel key={state.selected.value} state={state} node={state.selected.value} />}
      </div>
      {dialog === "revert" && <RevertDialog state={state} onClose={() => setDialog(null)} />}
      {dialog === "edit" && <EditDialog state={state} onClose={() => setDialog(null)} />}
    </main>
  );
}

function Crumbs({ state }: { state: DocState }): JSX.Element {
  const at = moment.value;
  return (
    <h1 class="crumbs">
      <a href={href(["in", state.collection], { at })}><Text of={state.collection} max={60} /></a>
      <span aria-hidden="true">/</span><Text of={state.key} max={80} />
    </h1>
  );
}

/** The revision in view, in words, and the buttons that move along the history. */
function Strip({ state }: { state: DocState }): JSX.Element {
  void state.history.loaded.value;
  const cursor = state.cursor.value;
  const version = state.history.version(cursor) ?? state.slices.versions.get(cursor) ?? null;
  const step = (by: number) => { state.pause(); state.move(cursor + by); };
  return (
    <div class="strip">
      <div class="steps" role="group" aria-label="Move along the history">
        <Button kind="quiet" label="First revision" disabled={cursor === 1} onClick={() => step(1 - cursor)}><Icon name="first" /></Button>
        <Button kind="quiet" label="Previous revision" disabled={cursor === 1} onClick={() => step(-1)}><Icon name="back" /></Button>
        <Button kind="quiet" label={state.playing.value ? "Pause" : "Play the history"} pressed={state.playing.value} onClick={() => state.play()}><Icon name={state.playing.value ? "pause" : "play"} /></Button>
        <Button kind="quiet" label="Next revision" disabled={state.isNewest} onClick={() => step(1)}><Icon name="next" /></Button>
        <Button kind="quiet" label="Newest revision" disabled={state.isNewest} onClick={() => step(state.newest - cursor)}><Icon name="last" /></Button>
      </div>
      <div class="strip-version">
        <strong>Revision {count(cursor)}</strong> <span class="muted">of {count(state.newest)}</span>
        {version && <>
          <time dateTime={timeOf(version)} title={version.authored ? `committed here ${dateTime(version.time)}` : undefined}>{dateTime(timeOf(version))}</time>
          <Author name={version.author} />
          {version.role !== null && version.role !== version.author && <span class="muted" title="The role that proved who it was">({version.role})</span>}
          <span class="message" title={version.message}><Text of={headline(version)} max={160} /></span>
          {version.deleted && <span class="badge delete">removed the document</span>}
        </>}
      </div>
      <Jump state={state} />
      <label class="flag-by small muted">flags <input value={state.flagPath.value} size={12} onChange={(event) => {
        const text = event.currentTarget.value.trim();
        state.flagBy(text === "" ? "" : pathOf(text));
      }} /></label>
      <Choice label="Scale of the axis" value={state.byTime.value ? "time" : "revision"} of={[["time", "by time"], ["revision", "by revision"]]} onChange={(scale) => { state.byTime.value = scale === "time"; }} />
    </div>
  );
}

/** Goes to a date or to a revision. */
function Jump({ state }: { state: DocState }): JSX.Element {
  const [text, setText] = useState("");
  const [error, setError] = useState<string | null>(null);
  const go = (event: Event) => {
    event.preventDefault();
    setError(null);
    const wanted = text.trim();
    if (/^\d{1,3}(?!\d)|^\d{5,}$/.test(wanted) && /^\d+$/.test(wanted)) {
      state.move(Number(wanted));
      return;
    }
    // A day means the end of it: what the document looked like then.
    const isDay = !/\d:\d/.test(wanted);
    const time = Date.parse(isDay && /^\d{4}-\d\d-\d\d$/.test(wanted) ? `${wanted}T23:59:59` : wanted);
    if (Number.isNaN(time)) {
      setError("a date such as 2026-03-01, or a revision");
      return;
    }
    void state.jump(new Date(time + (isDay && !/^\d{4}-\d\d-\d\d$/.test(wanted) ? 86_399_000 : 0)).toISOString()).then((found) => {
      if (!found) setError("before the first revision");
    });
  };
  return (
    <form class="jump" onSubmit={go}>
      <label class="visually-hidden" for="jump">Go to a date or a revision</label>
      <input id="jump" placeholder="date or revision" value={text} size={16} aria-invalid={error !== null} aria-describedby={error ? "jump-error" : undefined}
        onInput={(event) => setText(event.currentTarget.value)} />
      <Button type="submit">Go</Button>
      {error && <span id="jump-error" class="error small" role="alert">{error}</span>}
    </form>
  );
}
