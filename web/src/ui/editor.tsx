// The text editor: CodeMirror for JSON and SQL. It lives in a shadow root, where it can give its styles as objects:
// in the page itself the policy of the server lets nobody add style elements.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { PostgreSQL, sql, type SQLNamespace } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, foldGutter, foldKeymap, syntaxHighlighting } from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, drawSelection, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

interface Props {
  language: "json" | "sql";
  text: string;
  label: string;
  readOnly?: boolean;
  /** Tables and their columns, for completion of SQL. */
  schema?: SQLNamespace;
  onChange?: (text: string) => void;
  /** Ctrl-Enter. */
  onRun?: (text: string) => void;
}

export const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "12.5px", backgroundColor: "var(--field)", color: "var(--ink)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-gutters": { backgroundColor: "var(--field)", color: "var(--muted)", border: "none" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--select)" },
  ".cm-matchingBracket": { backgroundColor: "var(--select)" },
  ".cm-specialChar": { color: "var(--bad)" },
  ".cm-tooltip": { backgroundColor: "var(--paper)", color: "var(--ink)", border: "1px solid var(--line-strong)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--sunk)", border: "none", color: "var(--muted)" },
});

export const colours = HighlightStyle.define([
  { tag: [tags.propertyName], color: "var(--ink)", fontWeight: "600" },
  { tag: [tags.string], color: "var(--string)" },
  { tag: [tags.number], color: "var(--number)" },
  { tag: [tags.bool, tags.null, tags.keyword, tags.operatorKeyword], color: "var(--keyword)" },
  { tag: [tags.comment], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.typeName], color: "var(--accent)" },
]);

/** Characters that change the order of others are shown by name, as in the rest of the page. */
export const special = highlightSpecialChars({ addSpecialChars: /[\u061c\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g });

export function Editor({ language, text, label, readOnly = false, schema, onChange, onRun }: Props): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const told = useRef({ onChange, onRun });
  told.current = { onChange, onRun };
  const view = useRef<EditorView | null>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const run = (of: EditorView) => {
      told.current.onRun?.(of.state.doc.toString());
      return true;
    };
    const extensions: Extension[] = [
      lineNumbers(), foldGutter(), special, history(), drawSelection(), bracketMatching(), theme, syntaxHighlighting(colours),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
      language === "json" ? json() : sql({ dialect: PostgreSQL, schema: schema ?? {}, upperCaseKeywords: true }),
      keymap.of([
        ...(onRun ? [{ key: "Ctrl-Enter", mac: "Cmd-Enter", run }] : []),
        ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap,
      ]),
    ];
    if (readOnly) extensions.push(EditorState.readOnly.of(true));
    else extensions.push(closeBrackets(), autocompletion(), keymap.of([{ ...indentWithTab, shift: () => false }]));
    extensions.push(EditorView.updateListener.of((update) => {
      if (update.docChanged) told.current.onChange?.(update.state.doc.toString());
    }));
    const made = new EditorView({ root, parent: root, state: EditorState.create({ doc: view.current?.state.doc ?? text, extensions }) });
    view.current = made;
    return () => made.destroy();
  }, [schema]);
  return <div ref={place} class={`editor ${language}`} />;
}
