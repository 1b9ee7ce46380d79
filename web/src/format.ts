// Times, numbers and texts as people read them.

const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const NUMBER = new Intl.NumberFormat("en-GB");

/** The time of a version: when it was made where it comes from, else when it was committed. */
export function timeOf(version: { time: string; authored: string | null }): string {
  return version.authored ?? version.time;
}

export function date(time: string): string {
  return DATE.format(new Date(time));
}

export function dateTime(time: string): string {
  const when = new Date(time);
  // A table can hold times that are none, such as `infinity`.
  if (Number.isNaN(when.getTime())) return time;
  return `${DATE.format(when)}, ${TIME.format(when)}`;
}

export function count(value: number): string {
  return NUMBER.format(value);
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  let left = value;
  while (left >= 1024 && unit < units.length - 1) {
    left /= 1024;
    unit += 1;
  }
  return `${unit === 0 || left >= 100 ? Math.round(left) : left.toFixed(1)} ${units[unit] ?? ""}`;
}

/** How long something lasted. */
export function duration(ms: number): string {
  const steps: [number, string][] = [[86_400_000, "day"], [3_600_000, "hour"], [60_000, "minute"], [1_000, "second"]];
  for (const [unit, name] of steps) {
    if (ms >= unit) return plural(Math.round(ms / unit), name);
  }
  return `${Math.max(0, Math.round(ms))} ms`;
}

/** Characters that change how others are shown, or are not shown at all. */
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;
const NAMED: Record<string, string> = { "\n": "↵", "\t": "⇥", "\r": "␍" };

export interface Piece {
  text: string;
  /** The name of a character that would be hidden; null for plain text. */
  hidden: string | null;
}

/** Cuts a text into what can be shown as it is and characters that must be shown by name. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    const at = match.index;
    if (at > from) found.push({ text: text.slice(from, at), hidden: null });
    const code = match[0].codePointAt(0) ?? 0;
    const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    found.push({ text: NAMED[match[0]] ?? name, hidden: name });
    from = at + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), hidden: null });
  return found;
}

/** A text in which hidden characters are shown by their names, for attributes. */
export function plain(text: string): string {
  return pieces(text).map((piece) => (piece.hidden ? `⟨${piece.text}⟩` : piece.text)).join("");
}

/** A text that is no longer than `max` characters. */
export function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}

const HUES = 8;
const hues = new Map<string, number>();

/** A colour of the palette for an author. Two authors have the same one only where there are more than colours. */
export function hueOf(name: string): number {
  const known = hues.get(name);
  if (known !== undefined) return known;
  let hash = 0;
  for (let at = 0; at < name.length; at++) hash = (hash * 31 + name.charCodeAt(at)) | 0;
  let hue = Math.abs(hash) % HUES;
  const taken = new Set(hues.values());
  for (let step = 0; step < HUES && taken.has(hue); step++) hue = (hue + 1) % HUES;
  hues.set(name, hue);
  return hue;
}
