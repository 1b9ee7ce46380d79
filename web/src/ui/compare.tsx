// Two texts of JSON, side by side or inline, with what differs. Unchanged lines are folded.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { json } from "@codemirror/lang-json";
import { syntaxHighlighting } from "@codemirror/language";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { colours, special, theme } from "./editor";

export interface CompareProps {
  before: string;
  after: string;
  form: "inline" | "sides";
  labels: [before: string, after: string];
}

/** Lines around a change that are not folded, and the fewest lines that are. */
const COLLAPSE = { margin: 3, minSize: 4 };
/** How long the comparison may look for the smallest difference; then it takes a larger one. */
const DIFF = { scanLimit: 2_000, timeout: 500 };

const merged = EditorView.theme({
  ".cm-changedLine, &.cm-merge-b .cm-changedLine": { backgroundColor: "var(--good-soft)" },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": { backgroundColor: "var(--bad-soft)" },
  "&.cm-merge-b .cm-changedText, .cm-changedText": { background: "none", borderBottom: "2px solid var(--good)" },
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": { background: "none", borderBottom: "2px solid var(--bad)" },
  ".cm-collapsedLines": { background: "var(--sunk)", color: "var(--muted)", padding: "2px 12px" },
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { color: "var(--muted)" },
  ".cm-insertedLine, .cm-deletedLine, .cm-deletedLine del": { textDecoration: "none" },
});

function extensions(label: string): Extension[] {
  return [
    lineNumbers(), special, theme, merged, syntaxHighlighting(colours), json(), EditorView.lineWrapping,
    EditorState.readOnly.of(true), EditorView.editable.of(false),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", role: "textbox", "aria-readonly": "true", "aria-multiline": "true" }),
  ];
}

export function TextCompare({ before, after, form, labels }: CompareProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    // The merged view scrolls as a whole.
    const scroller = document.createElement("div");
    scroller.style.cssText = "height: 100%; overflow: auto";
    root.append(scroller);
    const made = form === "sides"
      ? new MergeView({
          a: { doc: before, extensions: extensions(labels[0]) }, b: { doc: after, extensions: extensions(labels[1]) },
          parent: scroller, root, collapseUnchanged: COLLAPSE, diffConfig: DIFF, gutter: true,
        })
      : new EditorView({
          root, parent: scroller, doc: after,
          extensions: [extensions(labels[1]), unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: COLLAPSE, diffConfig: DIFF })],
        });
    return () => {
      made.destroy();
      scroller.remove();
    };
  }, [before, after, form]);
  return <div ref={place} class="editor json" />;
}
