// Rows as lines: the first column that is a time or a number lies along, the other numbers are drawn.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Rows } from "../types";
import { Empty } from "../ui/kit";
import { timeLabels } from "../ui/times";

const HEIGHT = 320;
const NUMBERS = new Set(["smallint", "integer", "bigint", "numeric", "real", "double precision"]);

export function Chart({ rows }: { rows: Rows }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const times = rows.columns.findIndex((column) => column.type.startsWith("timestamp") || column.type === "date");
  const numbers = rows.columns.map((column, at) => ({ ...column, at })).filter((column) => NUMBERS.has(column.type));
  const along = times >= 0 ? times : numbers.length > 1 ? numbers[0]?.at ?? -1 : -1;
  const drawn = numbers.filter((column) => column.at !== along).slice(0, 8);
  useEffect(() => {
    const element = box.current;
    if (!element || drawn.length === 0) return;
    const style = getComputedStyle(element);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const value = (cell: unknown) => (cell === null || cell === undefined ? null : Number(cell));
    const placed = rows.rows.map((row, at) => ({ row, x: along < 0 ? at + 1 : times >= 0 ? Date.parse(String(row[along])) / 1000 : Number(row[along]) }));
    const points = placed.filter((point) => Number.isFinite(point.x)).sort((a, b) => a.x - b.x);
    const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, font: "11px system-ui" };
    const plot = new uPlot(
      {
        width: element.clientWidth, height: HEIGHT,
        scales: { x: { time: times >= 0 } },
        axes: [{ ...axis, ...(times >= 0 ? { values: timeLabels } : {}) }, axis],
        series: [{}, ...drawn.map((column, at) => ({ label: column.name, stroke: colour(`--hue-${at % 8}`), width: 1.5, points: { show: points.length < 100 } }))],
      },
      [points.map((point) => point.x), ...drawn.map((column) => points.map((point) => value(point.row[column.at])))] as uPlot.AlignedData,
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [rows]);
  if (drawn.length === 0) return <Empty>A chart needs a column of numbers.</Empty>;
  return <div ref={box} class="plot chart" role="img" aria-label={`Chart of ${drawn.map((column) => column.name).join(", ")}; the table has all values`} />;
}
