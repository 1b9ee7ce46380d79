// The values of a node that was always a number, as a line of steps.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { timeLabels } from "../ui/times";

/** A value, where it came, and the time. */
export interface Point {
  revision: number;
  value: number;
  time: string;
}

interface Props {
  points: Point[];
  /** The last revision with the last value, and its end; null where it holds now. */
  end: { revision: number; time: string | null };
  byTime: boolean;
  cursor: number;
  onPick: (revision: number) => void;
}

const HEIGHT = 140;

export function Plot({ points, end, byTime, onPick }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const style = getComputedStyle(element);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const x = points.map((point) => (byTime ? Date.parse(point.time) / 1000 : point.revision));
    const y = points.map((point): number | null => point.value);
    // The last value holds until now, or until it was removed.
    x.push(byTime ? Math.max((x[x.length - 1] ?? 0) + 1, end.time ? Date.parse(end.time) / 1000 : 0) : end.revision);
    y.push(y[y.length - 1] ?? null);
    const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const stepped = uPlot.paths.stepped;
    const plot = new uPlot(
      {
        width: element.clientWidth, height: HEIGHT,
        scales: { x: { time: byTime } },
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        axes: [{ ...axis, size: 36, space: 60, ...(byTime ? { values: timeLabels } : {}) }, { ...axis, size: 52 }],
        series: [{}, { stroke: colour("--accent"), width: 1.5, ...(stepped ? { paths: stepped({ align: 1 }) } : {}), points: { show: points.length < 60, size: 5 } }],
      },
      [x, y],
      element,
    );
    const pick = () => {
      const at = plot.cursor.idx;
      const point = at === null || at === undefined ? undefined : points[Math.min(at, points.length - 1)];
      if (point) onPick(point.revision);
    };
    plot.over.addEventListener("click", pick);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [points, byTime]);
  return <div ref={box} class="plot" role="img" aria-label="Plot of the values; the list below has them" />;
}
