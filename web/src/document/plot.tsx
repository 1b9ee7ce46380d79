// The values of a node that was always a number, as a line of steps.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { NodeVersion } from "../types";
import { timeLabels } from "../ui/times";

interface Props {
  runs: NodeVersion[];
  byTime: boolean;
  newest: number;
  cursor: number;
  onPick: (revision: number) => void;
}

const HEIGHT = 140;

export function Plot({ runs, byTime, newest, onPick }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const style = getComputedStyle(element);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const x = runs.map((run) => (byTime ? Date.parse(run.authored ?? run.from_time) / 1000 : run.from_revision));
    const y = runs.map((run) => (typeof run.value === "number" ? run.value : null));
    // The last value holds until now, or until it was removed.
    const last = runs[runs.length - 1];
    x.push(byTime ? Math.max((x[x.length - 1] ?? 0) + 1, last?.to_time ? Date.parse(last.to_time) / 1000 : 0) : (last?.to_revision ?? newest));
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
        series: [{}, { stroke: colour("--accent"), width: 1.5, ...(stepped ? { paths: stepped({ align: 1 }) } : {}), points: { show: runs.length < 60, size: 5 } }],
      },
      [x, y],
      element,
    );
    const pick = () => {
      const at = plot.cursor.idx;
      const run = at === null || at === undefined ? undefined : runs[Math.min(at, runs.length - 1)];
      if (run) onPick(run.from_revision);
    };
    plot.over.addEventListener("click", pick);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [runs, byTime]);
  return <div ref={box} class="plot" role="img" aria-label="Plot of the values; the list below has them all" />;
}
