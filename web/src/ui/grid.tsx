// Rows of SQL as a table of which only the rows in view are in the page.

import type { JSX } from "preact";
import { write } from "../exact";
import { count } from "../format";
import type { Json, Rows } from "../types";
import { Text } from "./kit";
import { VirtualRows } from "./rows";

const ROW = 26;
const NUMBERS = new Set(["smallint", "integer", "bigint", "numeric", "real", "double precision", "oid"]);

interface Props {
  rows: Rows;
  label: string;
  /** The row that is picked. */
  picked?: number | null;
  onPick?: (at: number) => void;
  /** Classes of a row, of a cell. */
  rowClass?: (at: number) => string;
}

/** The widths of columns, in characters, from their names and their first values. */
function widths(rows: Rows): number[] {
  return rows.columns.map((column, at) => {
    let width = column.name.length;
    for (const row of rows.rows.slice(0, 60)) width = Math.max(width, cellText(row[at] ?? null).length);
    return Math.max(5, Math.min(44, width + 3));
  });
}

export function cellText(value: Json): string {
  return typeof value === "string" ? value : value === null ? "" : write(value);
}

export function Cell({ value }: { value: Json }): JSX.Element {
  if (value === null) return <span class="null">null</span>;
  return <Text of={cellText(value)} max={300} />;
}

export function Grid({ rows, label, picked, onPick, rowClass }: Props): JSX.Element {
  const template = widths(rows).map((width) => `${width}ch`).join(" ");
  const isNumber = rows.columns.map((column) => NUMBERS.has(column.type));
  const keys = (event: KeyboardEvent) => {
    if (!onPick) return;
    const at = picked ?? -1;
    const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.rows.length - 1 };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    onPick(Math.max(0, Math.min(rows.rows.length - 1, next)));
  };
  return (
    <div class="grid">
      <VirtualRows total={rows.rows.length + 1} rowHeight={ROW} reveal={picked === null || picked === undefined ? null : picked + 1}
        attributes={{ role: "table", tabIndex: 0, "aria-label": `${label}, ${count(rows.rows.length)} rows`, "aria-rowcount": rows.rows.length + 1, onKeyDown: keys }}>
        {(first, shown) => (
          <>
            <div class="grid-row head" role="row" style={{ gridTemplateColumns: template }}>
              {rows.columns.map((column, at) => <span key={at} role="columnheader" class={isNumber[at] ? "num" : ""} title={column.type}><Text of={column.name} max={63} /></span>)}
            </div>
            {rows.rows.slice(first, Math.max(0, first + shown - 1)).map((row, at) => {
              const number = first + at;
              return (
                <div key={number} role="row" aria-rowindex={number + 2} class={`grid-row${picked === number ? " picked" : ""} ${rowClass?.(number) ?? ""}`} style={{ gridTemplateColumns: template }} onClick={() => onPick?.(number)}>
                  {row.map((value, column) => <span key={column} role="cell" class={isNumber[column] ? "num" : ""}><Cell value={value} /></span>)}
                </div>
              );
            })}
          </>
        )}
      </VirtualRows>
    </div>
  );
}

/** The rows as CSV (RFC 4180). A cell that a spreadsheet would compute is quoted as a text. */
export function csv(rows: Rows): string {
  const field = (value: Json): string => {
    const text = cellText(value);
    const safe = typeof value === "string" && /^[=+@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  };
  const lines = [rows.columns.map((column) => field(column.name)), ...rows.rows.map((row) => row.map(field))];
  return lines.map((line) => line.join(",")).join("\r\n") + "\r\n";
}

/** The rows as a list of objects. */
export function objects(rows: Rows): string {
  const lines = rows.rows.map((row) => `{${rows.columns.map((column, at) => `${JSON.stringify(column.name)}:${write(row[at] ?? null)}`).join(",")}}`);
  return `[\n${lines.join(",\n")}\n]\n`;
}
