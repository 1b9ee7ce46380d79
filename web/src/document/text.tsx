// The document as text, to read and to copy.

import type { JSX } from "preact";
import { api } from "../api";
import { bytes } from "../format";
import { parse, write } from "../exact";
import { Button, CopyButton, Wrong, download, useLoaded } from "../ui/kit";
import { Editor } from "../ui/editor";
import type { DocState } from "./state";

const BYTES_MAX = 16 << 20;

export function TextView({ state }: { state: DocState }): JSX.Element {
  const cursor = state.cursor.value;
  const { value, error } = useLoaded(async () => {
    const { text } = await api.text(state.collection, state.key, { revision: cursor });
    return { revision: cursor, length: text.length, text: text.length > BYTES_MAX ? null : write(parse(text), 2) };
  }, [cursor]);
  if (error !== null) return <Wrong error={error} />;
  if (value === null) return <div class="loading" aria-busy="true" />;
  const text = value.text;
  if (text === null) return <p>This version has {bytes(value.length)}: too much to show as text. The tree shows it part by part.</p>;
  return (
    <div class="text-view">
      <p class="foot small muted">
        {bytes(value.length)} <CopyButton text={text} label="Copy the document" />
        <Button kind="quiet" onClick={() => download(`${state.key}-${value.revision}.json`, "application/json", text)}>Download</Button>
      </p>
      <Editor key={value.revision} language="json" text={text} readOnly label={`The document at revision ${value.revision}`} />
    </div>
  );
}
