// The time axis: the whole history in one line. Bars say how many versions there are, colours who made them, flags
// what a field of the document said. The reader drags along it, or moves with the keys of a slider.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { date, dateTime, hueOf, plain, timeOf } from "../format";
import { SINGLE_MAX, Scale, type DocHistory } from "./history";
import type { NodeVersion, Version } from "../types";

const HEIGHT = 56;
const MARGIN = 10;
const FLAG_WIDTH = 84;

interface Props {
  history: DocHistory;
  cursor: number;
  compare: number | null;
  byTime: boolean;
  flags: NodeVersion[];
  onMove: (revision: number) => void;
  onPlay: () => void;
}

export function Axis({ history, cursor, compare, byTime, flags, onMove, onPlay }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const shown = history.shown.value;
  const scale = useMemo(() => (shown ? new Scale(shown, byTime) : null), [shown, byTime]);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const draw = () => {
      if (canvas.current && scale && width > 0) paint(canvas.current, scale, width);
    };
    draw();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    return () => dark.removeEventListener("change", draw);
  }, [scale, width]);

  const x = (revision: number): number => MARGIN + (scale?.of(revision) ?? 0) * (width - 2 * MARGIN);
  const moveTo = (event: PointerEvent) => {
    const left = box.current?.getBoundingClientRect().left ?? 0;
    if (scale) onMove(scale.revisionAt((event.clientX - left - MARGIN) / Math.max(1, width - 2 * MARGIN)));
  };
  const zoomBy = (factor: number, around: number) => {
    if (!shown) return;
    const length = Math.max(8, Math.round((shown.to - shown.from) * factor));
    const part = shown.to === shown.from ? 0.5 : (around - shown.from) / (shown.to - shown.from);
    const from = Math.max(1, Math.round(around - length * part));
    void history.zoom(from, Math.min(history.newest, from + length)).catch(() => undefined);
  };
  const keys = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.round(((shown?.to ?? 1) - (shown?.from ?? 1)) / 20));
    const moves: Record<string, number> = {
      ArrowLeft: cursor - 1, ArrowDown: cursor - 1, ArrowRight: cursor + 1, ArrowUp: cursor + 1,
      PageDown: cursor - page, PageUp: cursor + page, Home: 1, End: history.newest,
    };
    const next = moves[event.key];
    if (next !== undefined) onMove(Math.max(1, Math.min(history.newest, next)));
    else if (event.key === " ") onPlay();
    else if (event.key === "+" || event.key === "=") zoomBy(0.5, cursor);
    else if (event.key === "-") zoomBy(2, cursor);
    else return;
    event.preventDefault();
  };
  const version = history.version(cursor);
  const told = version ? `Revision ${cursor}, ${dateTime(timeOf(version))}, ${plain(version.author)}: ${plain(version.message).slice(0, 200)}` : `Revision ${cursor}`;
  const isVisible = (revision: number) => shown !== null && revision >= shown.from && revision <= shown.to;

  return (
    <div class="axis" ref={box}>
      <div class="axis-flags">{width > 0 && flagsIn(flags, x, isVisible, width).map(({ run, at }) => (
        <button type="button" class="flag" key={run.from_revision} style={{ transform: `translateX(${at}px)` }} onClick={() => onMove(run.from_revision)}
          title={`${plain(String(run.value))}: from revision ${run.from_revision}`}>{plain(String(run.value)).slice(0, 9)}</button>
      ))}</div>
      <div class="axis-line" role="slider" tabIndex={0} aria-label="Revision" aria-valuemin={1} aria-valuemax={Math.max(1, history.newest)}
        aria-valuenow={cursor} aria-valuetext={told}
        onKeyDown={keys}
        onWheel={(event) => { event.preventDefault(); zoomBy(event.deltaY > 0 ? 1.5 : 1 / 1.5, scale?.revisionAt((event.offsetX - MARGIN) / Math.max(1, width - 2 * MARGIN)) ?? cursor); }}
        onPointerDown={(event) => { event.currentTarget.setPointerCapture(event.pointerId); moveTo(event); }}
        onPointerMove={(event) => { if (event.buttons & 1) moveTo(event); }}>
        <canvas ref={canvas} aria-hidden="true" />
        {width > 0 && compare !== null && isVisible(compare) && <div class="axis-compare" style={{ transform: `translateX(${x(compare)}px)` }}><span>{compare}</span></div>}
        {width > 0 && isVisible(cursor) && <div class="axis-cursor" style={{ transform: `translateX(${x(cursor)}px)` }} />}
      </div>
      <div class="axis-labels" aria-hidden="true">{width > 0 && scale && labels(scale, width).map(({ at, text }) => (
        <span key={at} style={{ transform: `translateX(${at}px)` }}>{text}</span>
      ))}</div>
    </div>
  );
}

/** The flags for which there is room, newest first. */
function flagsIn(flags: NodeVersion[], x: (revision: number) => number, isVisible: (revision: number) => boolean, width: number): { run: NodeVersion; at: number }[] {
  const found: { run: NodeVersion; at: number }[] = [];
  let right = width;
  for (const run of [...flags].reverse()) {
    if (!isVisible(run.from_revision)) continue;
    const at = Math.min(x(run.from_revision), width - FLAG_WIDTH);
    if (at > right - FLAG_WIDTH) continue;
    found.push({ run, at });
    right = at;
  }
  return found;
}

const DAY_MS = 86_400_000;

function labels(scale: Scale, width: number): { at: number; text: string }[] {
  const isShort = scale.timeAt(1) - scale.timeAt(0) < 2 * DAY_MS;
  const many = Math.max(1, Math.min(8, Math.floor(width / (isShort ? 220 : 130))));
  const found: { at: number; text: string }[] = [];
  for (let step = 0; step <= many; step++) {
    const time = new Date(scale.timeAt(step / many)).toISOString();
    const text = isShort ? dateTime(time) : date(time);
    if (found[found.length - 1]?.text === text) continue;
    found.push({ at: MARGIN + (step / many) * (width - 2 * MARGIN), text });
  }
  return found;
}

function paint(canvas: HTMLCanvasElement, scale: Scale, width: number): void {
  const dense = devicePixelRatio || 1;
  canvas.width = width * dense;
  canvas.height = HEIGHT * dense;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${HEIGHT}px`;
  const drawing = canvas.getContext("2d");
  if (!drawing) return;
  drawing.scale(dense, dense);
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  drawing.strokeStyle = colour("--line-strong");
  drawing.beginPath();
  drawing.moveTo(MARGIN, HEIGHT - 0.5);
  drawing.lineTo(width - MARGIN, HEIGHT - 0.5);
  drawing.stroke();
  const { buckets } = scale.density;
  const room = width - 2 * MARGIN;
  const most = Math.max(...buckets.map((bucket) => bucket.to - bucket.from + 1), 1);
  const single = scale.density.to - scale.density.from < SINGLE_MAX;
  const bar = Math.max(2, Math.min(10, room / Math.max(buckets.length, 30) - 1));
  for (const bucket of buckets) {
    const number = bucket.to - bucket.from + 1;
    const middle = MARGIN + ((scale.of(bucket.from) + scale.of(bucket.to)) / 2) * room;
    const height = most === 1 ? HEIGHT * 0.55 : 6 + (HEIGHT - 14) * (Math.log1p(number) / Math.log1p(most));
    let top = HEIGHT - 1;
    const counted = bucket.authors.reduce((sum, each) => sum + each.count, 0);
    for (const each of bucket.authors) {
      const part = (each.count / Math.max(1, counted)) * height;
      drawing.fillStyle = colour(`--hue-${hueOf(each.author)}`);
      top -= part;
      drawing.fillRect(middle - bar / 2, top, bar, Math.max(1, part - 0.5));
    }
    if (single && number > 1 && room / (scale.density.to - scale.density.from + 1) > 3) {
      drawing.fillStyle = colour("--line-strong");
      for (let revision = bucket.from; revision <= bucket.to; revision++) drawing.fillRect(MARGIN + scale.of(revision) * room - 0.5, HEIGHT - 4, 1, 4);
    }
  }
}

/** A version in one line, for the list of versions and above the document. */
export function headline(version: Version): string {
  const [first = ""] = version.message.split("\n", 1);
  return first === "" ? "(no message)" : first;
}
