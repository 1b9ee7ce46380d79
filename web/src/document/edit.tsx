// Editing the newest version as text. The server takes it only if nobody changed the document meanwhile.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { api } from "../api";
import { bytes, count } from "../format";
import { parse, write } from "../exact";
import { author } from "../session";
import { Button, Dialog, Wrong, useLoaded } from "../ui/kit";
import { Editor } from "../ui/editor";
import { Conflict, Why, isConflict } from "./revert";
import type { DocState } from "./state";

/** Longer documents are edited node by node, or by a program. */
const BYTES_MAX = 4 << 20;

export function EditDialog({ state, onClose }: { state: DocState; onClose: () => void }): JSX.Element {
  const [base, setBase] = useState(state.newest);
  const [message, setMessage] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [text, setText] = useState<string | null>(null);
  const begun = useLoaded(async () => {
    const { text: read, tag } = await api.text(state.collection, state.key, {});
    return { text: read.length > BYTES_MAX ? read : write(parse(read), 2), tag };
  }, []);
  const [tag, setTag] = useState<string | null>(null);
  const current = text ?? begun.value?.text ?? "";
  const wrong = useMemo(() => {
    try {
      JSON.parse(current);
      return null;
    } catch (failure) {
      return failure instanceof Error ? failure.message : "no JSON";
    }
  }, [current]);
  const save = async (over: boolean) => {
    setBusy(true);
    setError(null);
    try {
      const match = over ? await api.tag(state.collection, state.key) : tag ?? begun.value?.tag;
      await api.put(state.collection, state.key, current, { ifMatch: match, message, author: author.value });
      await state.changedHere();
      onClose();
      return;
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  const takeTheirs = async () => {
    const theirs = await api.text(state.collection, state.key, {});
    setText(write(parse(theirs.text), 2));
    setTag(theirs.tag);
    setBase(state.newest);
    setError(null);
    setBusy(false);
  };
  if (begun.value && begun.value.text.length > BYTES_MAX) {
    return <Dialog title="Edit" onClose={onClose}><p>This document has {bytes(begun.value.text.length)}: too much for an editor in a page. `anywhen edit` changes one part of it.</p></Dialog>;
  }
  return (
    <Dialog title={`Edit revision ${count(base)}`} onClose={onClose} wide>
      {begun.error !== null && <Wrong error={begun.error} />}
      {begun.value && <Editor key={tag ?? "first"} language="json" text={current} onChange={setText} label="The document as JSON" />}
      {wrong !== null && begun.value && <p class="error small" role="status">{wrong}</p>}
      <Why message={message} onMessage={setMessage} />
      {isConflict(error)
        ? <Conflict state={state} base={base}><div class="actions">
            <Button onClick={() => void takeTheirs().catch(setError)}>Take theirs, drop mine</Button>
            <Button kind="danger" onClick={() => void save(true)}>Write mine over theirs</Button>
          </div></Conflict>
        : error !== null && <Wrong error={error} />}
      <div class="actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" disabled={busy || wrong !== null || text === null || isConflict(error)} onClick={() => void save(false)}>Save</Button>
      </div>
    </Dialog>
  );
}
