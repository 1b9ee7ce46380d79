// JSON without loss: a number that a JavaScript number cannot hold keeps its digits.

/** A number as it is written. */
export class Exact {
  constructor(readonly source: string) {}
}

interface Source {
  source?: string;
}

/** Reads JSON. Numbers that would change become `Exact`, where the browser tells how they are written. */
export function parse(text: string): unknown {
  const read = JSON.parse as (text: string, reviver: (key: string, value: unknown, context?: Source) => unknown) => unknown;
  // Texts without long numbers, nearly all of them, are read at full speed.
  if (!/\d{15}|\d[eE]|\.\d{9}/.test(text)) return JSON.parse(text);
  return read(text, (_key, value, context) => {
    if (typeof value !== "number" || context?.source === undefined || String(value) === context.source) return value;
    return new Exact(context.source);
  });
}

/** Writes a value as JSON, with all digits. */
export function write(value: unknown, indent = 0, level = 0): string {
  if (value instanceof Exact) return value.source;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const space = indent > 0 ? `\n${" ".repeat(indent * (level + 1))}` : "";
  const end = indent > 0 ? `\n${" ".repeat(indent * level)}` : "";
  const colon = indent > 0 ? ": " : ":";
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[${value.map((item) => space + write(item, indent, level + 1)).join(",")}${end}]`;
  }
  const members = Object.entries(value);
  if (members.length === 0) return "{}";
  return `{${members.map(([name, item]) => `${space}${JSON.stringify(name)}${colon}${write(item, indent, level + 1)}`).join(",")}${end}}`;
}
