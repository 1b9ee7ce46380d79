// Small parts that all pages use: texts shown safely, buttons, dialogs, messages.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure, Unreachable } from "../api";
import { hueOf, pieces, plain } from "../format";

/** A text of the data: hidden characters are shown by name, and nothing in it changes the order of what is around it. */
export function Text({ of, max }: { of: string; max?: number }): JSX.Element {
  const shown = max !== undefined && of.length > max ? `${of.slice(0, max)}…` : of;
  return (
    <bdi dir="ltr">
      {pieces(shown).map((piece) =>
        piece.hidden === null ? piece.text : <span class="hidden-char" title={`hidden character ${piece.hidden}`}>{piece.text}</span>,
      )}
    </bdi>
  );
}

export function Author({ name }: { name: string }): JSX.Element {
  if (name === "") return <span class="muted">nobody named</span>;
  return <span class={`author hue-${hueOf(name)}`}><span class="dot" aria-hidden="true" /><Text of={name} max={60} /></span>;
}

interface ButtonProps {
  children: ComponentChildren;
  onClick?: () => void;
  kind?: "plain" | "main" | "danger" | "quiet";
  label?: string;
  title?: string;
  disabled?: boolean;
  pressed?: boolean;
  type?: "button" | "submit";
}

export function Button({ children, onClick, kind = "plain", label, title, disabled, pressed, type = "button" }: ButtonProps): JSX.Element {
  return (
    <button type={type} class={`button ${kind}`} onClick={onClick} aria-label={label} title={title ?? label} disabled={disabled} aria-pressed={pressed}>
      {children}
    </button>
  );
}

/** A choice of a few. */
export function Choice<T extends string>({ label, value, of, onChange }: {
  label: string;
  value: T;
  of: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}): JSX.Element {
  return (
    <div class="choice" role="group" aria-label={label}>
      {of.map(([name, text]) => (
        <button type="button" key={name} aria-pressed={name === value} onClick={() => onChange(name)}>{text}</button>
      ))}
    </div>
  );
}

/** A dialog above the page. Escape closes it; the focus returns to where it was. */
export function Dialog({ title, onClose, children, wide }: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} class={wide ? "wide" : ""} aria-labelledby="dialog-title" onCancel={(event) => { event.preventDefault(); onClose(); }}>
      <header>
        <h2 id="dialog-title">{title}</h2>
        <Button kind="quiet" label="Close" onClick={onClose}>✕</Button>
      </header>
      {children}
    </dialog>
  );
}

/** Shows an error in words that say how the reader can go on. */
export function Wrong({ error }: { error: unknown }): JSX.Element {
  return <div class="wrong" role="alert"><Text of={wordsOf(error)} max={2000} /></div>;
}

export function wordsOf(error: unknown): string {
  if (error instanceof Unreachable) return "The server does not answer. Your work on this page is kept; try again in a moment.";
  if (error instanceof Failure) {
    switch (error.status) {
      case 401: return "The server does not know this token any more: it has expired or was revoked. Sign in again.";
      case 403: return `This token may not do that. ${error.message}`;
      case 410: return `This moment is not kept any more. ${error.message}`;
      case 503: return `The server is busy: try again in a moment. ${error.message}`;
      default: return error.message;
    }
  }
  return error instanceof Error ? error.message : String(error);
}

export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}

/** The state of something that is loaded. */
export interface Loaded<T> {
  value: T | null;
  error: unknown;
  busy: boolean;
  again: () => void;
}

/** Loads something, and again where one of `keys` changes. The old value stays until the new one has come. */
export function useLoaded<T>(load: () => Promise<T>, keys: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value: T | null; error: unknown; busy: boolean }>({ value: null, error: null, busy: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let wanted = true;
    setState((old) => ({ ...old, busy: true }));
    load().then(
      (value) => wanted && setState({ value, error: null, busy: false }),
      (error: unknown) => wanted && setState((old) => ({ value: old.value, error, busy: false })),
    );
    return () => {
      wanted = false;
    };
  }, [...keys, turn]);
  return { ...state, again: () => setTurn((old) => old + 1) };
}

/** Copies a text for the reader to paste. */
export function CopyButton({ text, label }: { text: string; label: string }): JSX.Element {
  const [done, setDone] = useState(false);
  return (
    <Button kind="quiet" label={label} onClick={() => void navigator.clipboard.writeText(text).then(() => setDone(true))}>
      {done ? "copied" : "copy"}
    </Button>
  );
}

/** Offers a text as a file. */
export function download(name: string, media: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: media }));
  link.download = plain(name).replace(/[^\w.-]+/g, "_");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
