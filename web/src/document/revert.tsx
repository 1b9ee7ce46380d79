// Going back, of a document or of one part: first the reader sees what it will do, then says why. The server takes the
// change only if the document is still the one that was shown.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Failure, api } from "../api";
import { count, plural } from "../format";
import { author, isOpen } from "../session";
import { Author, Button, Dialog, Text, Wrong, useLoaded } from "../ui/kit";
import { ChangeList, Scalar } from "./changes";
import { parse } from "../exact";
import type { Json, Version } from "../types";
import type { DocState } from "./state";

/** The fields of every dialog that changes something: why, and who where nobody has to prove it. */
export function Why({ message, onMessage }: { message: string; onMessage: (text: string) => void }): JSX.Element {
  return (
    <div class="why">
      <label>Message <input value={message} autoFocus onInput={(event) => onMessage(event.currentTarget.value)} placeholder="why" /></label>
      {isOpen.value && <label>Your name <input value={author.value} onInput={(event) => { author.value = event.currentTarget.value; }} placeholder="the author of the revision" autocomplete="name" /></label>}
    </div>
  );
}

/** True if the server refused the change because another client was faster (409, 412). */
export function isConflict(error: unknown): boolean {
  return error instanceof Failure && (error.status === 409 || error.status === 412);
}

/** Shows the revisions of the faster client and their changes. */
export function Conflict({ state, base, children }: { state: DocState; base: number; children: JSX.Element }): JSX.Element {
  const { value } = useLoaded(async () => {
    await state.history.load();
    const newest = state.newest;
    const from = Math.min(base + 1, newest);
    const [versions, diff] = await Promise.all([
      api.versions(state.collection, state.key, { from, to: newest }),
      api.diff(state.collection, state.key, base, newest),
    ]);
    return { versions, diff };
  }, [base]);
  return (
    <div class="conflict" role="alert">
      <h3>Somebody else changed this document meanwhile</h3>
      <p>Nothing was written. {value && <By versions={value.versions} />}</p>
      {value && <ChangeList changes={value.diff.changes} max={12} />}
      {children}
    </div>
  );
}

function By({ versions }: { versions: Version[] }): JSX.Element {
  return <>{versions.slice(0, 3).map((version) => (
    <span key={version.revision}>Revision {count(version.revision)} is by <Author name={version.author} />{version.message !== "" && <>: <Text of={version.message} max={100} /></>}. </span>
  ))}</>;
}

export function RevertDialog({ state, onClose }: { state: DocState; onClose: () => void }): JSX.Element {
  const [revision] = useState(state.cursor.peek());
  const [base, setBase] = useState(state.newest);
  const [message, setMessage] = useState(`back to revision ${revision}`);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const preview = useLoaded(async () => {
    const tag = await api.tag(state.collection, state.key);
    // A removed document differs in everything: it comes back as it was.
    if (tag === null) return { changes: null, tag };
    const diff = await api.diff(state.collection, state.key, base, revision);
    return { changes: diff.changes, tag };
  }, [base]);
  const revert = async () => {
    setBusy(true);
    setError(null);
    try {
      await api.revert(state.collection, state.key, revision, { ifMatch: preview.value?.tag, message, author: author.value });
      await state.changedHere();
      onClose();
      return;
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <Dialog title={`Go back to revision ${count(revision)}`} onClose={onClose}>
      <p>This makes a new revision that equals revision {count(revision)}. Nothing is lost: all revisions stay.</p>
      <h3>What it will do</h3>
      {preview.error !== null && <Wrong error={preview.error} />}
      {preview.value?.changes === null && <p class="muted">The document is removed now. It comes back as it was in revision {count(revision)}.</p>}
      {preview.value?.changes && (preview.value.changes.length === 0 ? <p class="muted">Nothing: the newest revision is equal.</p> : <>
        <p class="muted">{plural(preview.value.changes.length, "change")} to revision {count(base)}, the newest:</p>
        <ChangeList changes={preview.value.changes} max={40} />
      </>)}
      <Why message={message} onMessage={setMessage} />
      {isConflict(error)
        ? <Conflict state={state} base={base}><div class="actions"><Button onClick={() => { setBase(state.newest); setError(null); setBusy(false); }}>Show what going back does now</Button></div></Conflict>
        : error !== null && <Wrong error={error} />}
      <div class="actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" disabled={busy || preview.value === null || preview.value.changes?.length === 0 || isConflict(error)} onClick={() => void revert()}>Go back</Button>
      </div>
    </Dialog>
  );
}

/** A node, and the revision whose value of it is wanted again. */
export interface PutBack {
  node: number;
  path: string | null;
  revision: number;
}

export function PutBackDialog({ state, wanted, onClose }: { state: DocState; wanted: PutBack; onClose: () => void }): JSX.Element {
  const { node, revision, path } = wanted;
  const [turn, setTurn] = useState(0);
  const [base, setBase] = useState(state.newest);
  const [message, setMessage] = useState(`${path ?? "a value"} as in revision ${revision}`);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const preview = useLoaded(async () => {
    const { collection, key } = state;
    const then = await api.nodeText(collection, key, { revision, node_key: node });
    const tag = await api.tag(collection, key);
    // A node that was removed is added again at its path.
    const now = await api.nodeText(collection, key, { node_key: node }).catch((failure: unknown) => {
      if (failure instanceof Failure && failure.status === 404) return null;
      throw failure;
    });
    return { then, now, tag };
  }, [turn]);
  const put = async () => {
    if (!preview.value) return;
    setBusy(true);
    setError(null);
    try {
      const target = preview.value.now === null ? { path } : { node_key: node };
      await api.setNode(state.collection, state.key, target, preview.value.then, { ifMatch: preview.value.tag, message, author: author.value });
      await state.changedHere();
      onClose();
      return;
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  const shown = (text: string): JSX.Element => <Scalar value={parse(text) as Json} max={400} />;
  const isSame = preview.value !== null && preview.value.now === preview.value.then;
  return (
    <Dialog title="Put one part back" onClose={onClose}>
      <p><code><Text of={path ?? `node ${node}`} max={200} /></code> gets the value that it had in revision {count(revision)}. Everything else stays as it is.</p>
      {preview.error !== null && <Wrong error={preview.error} />}
      {preview.value && (
        <p class="before-after">
          {preview.value.now === null ? <span class="muted">(removed)</span> : <del>{shown(preview.value.now)}</del>}
          <span aria-hidden="true"> → </span><ins>{shown(preview.value.then)}</ins>
        </p>
      )}
      {isSame && <p class="muted">It has this value now.</p>}
      <Why message={message} onMessage={setMessage} />
      {isConflict(error)
        ? <Conflict state={state} base={base}><div class="actions"><Button onClick={() => { setTurn(turn + 1); setBase(state.newest); setError(null); setBusy(false); }}>Look again, then decide</Button></div></Conflict>
        : error !== null && <Wrong error={error} />}
      <div class="actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" disabled={busy || preview.value === null || isSame || isConflict(error)} onClick={() => void put()}>Put back</Button>
      </div>
    </Dialog>
  );
}
