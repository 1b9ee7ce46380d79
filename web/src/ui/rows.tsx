// A long list of rows of one height, of which only those in view are in the page.

import type { ComponentChildren, HTMLAttributes, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Browsers draw nothing beyond some height. Beyond this many pixels the list is scrolled in proportion. */
const HEIGHT_MAX = 8_000_000;

interface Props {
  total: number;
  rowHeight: number;
  /** Draws the rows from `first`, `count` of them. */
  children: (first: number, count: number) => ComponentChildren;
  /** Told which rows are in view. */
  onView?: (first: number, count: number) => void;
  /** A row that must be in view; changes of it scroll the list. */
  reveal?: number | null;
  attributes?: HTMLAttributes<HTMLDivElement>;
}

export function VirtualRows({ total, rowHeight, children, onView, reveal, attributes }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const full = Math.max(1, total) * rowHeight;
  const height = Math.min(full, HEIGHT_MAX);
  const scale = full > height ? (full - view.height) / Math.max(1, height - view.height) : 1;
  const first = Math.max(0, Math.min(total - 1, Math.floor((view.top * scale) / rowHeight)));
  const count = Math.min(total - first, Math.ceil(view.height / rowHeight) + 1);
  const offset = scale === 1 ? first * rowHeight : view.top;

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => onView?.(first, count), [first, count]);
  useEffect(() => {
    const element = box.current;
    if (!element || reveal === null || reveal === undefined || reveal < 0) return;
    // All in pixels of the scroll bar, of which each stands for `scale` pixels of rows.
    const [top, row, height] = [(reveal * rowHeight) / scale, rowHeight / scale, element.clientHeight / scale];
    if (top < element.scrollTop) element.scrollTop = top - row;
    else if (top + row * 2 > element.scrollTop + height) element.scrollTop = top - height + row * 2;
  }, [reveal]);

  return (
    <div {...attributes} ref={box} class={`virtual ${attributes?.class ?? ""}`}
      onScroll={(event) => setView({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}>
      <div class="virtual-space" role="presentation" style={{ height: `${height}px` }}>
        <div class="virtual-window" role="presentation" style={{ transform: `translateY(${offset}px)` }}>{count > 0 ? children(first, count) : null}</div>
      </div>
    </div>
  );
}
