// Names and values in SQL text.

/** A name in double quotes. */
export function quoted(name: string): string {
  return `"${name.replace(/"/g, '""')}"`;
}

/** The moment of a table in a query. */
export function asOf(time: string | null): string {
  return time === null ? "" : ` FOR SYSTEM_TIME AS OF '${time.replace(/'/g, "''")}'`;
}
