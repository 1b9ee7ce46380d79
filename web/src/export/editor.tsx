// The text of a document in an exported page: without an editor, so that the file stays small.

import type { JSX } from "preact";
import { VirtualRows } from "../ui/rows";
import { Text } from "../ui/kit";

const ROW = 20;

export function Editor({ text, label }: { language: string; text: string; label: string; readOnly?: boolean }): JSX.Element {
  const lines = text.split("\n");
  return (
    <div class="editor json">
      <VirtualRows total={lines.length} rowHeight={ROW} attributes={{ class: "plain-text", role: "textbox", "aria-readonly": true, "aria-multiline": true, "aria-label": label, tabIndex: 0 }}>
        {(first, count) => lines.slice(first, first + count).map((line, at) => <div key={first + at}><Text of={line} max={2000} /></div>)}
      </VirtualRows>
    </div>
  );
}
