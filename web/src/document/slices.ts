// Slices of a document: the rows in view at the revision in view. While the reader scrubs, each frame wants another
// slice. A few requests run at a time. The tree shows an answer if its revision is nearer to the wanted one than the
// revision on the screen. The next revisions in the direction of the move are fetched ahead.

import { batch, signal } from "@preact/signals";
import { Failure, api } from "../api";
import type { Outline, Version } from "../types";

/** Rows of a slice. */
export const SLICE = 120;
const AHEAD = 6;
const IN_FLIGHT = 4;
const KEPT = 400;

interface Wanted {
  revision: number;
  row: number;
}

export class Slices {
  /** The slice that the tree shows. */
  readonly slice = signal<Outline | null>(null);
  readonly error = signal<unknown>(null);
  /** Containers that are open though they would be closed, and the other way round. */
  readonly toggled = signal<ReadonlySet<number>>(new Set());
  readonly versions = new Map<number, Version>();
  private readonly kept = new Map<string, Outline>();
  private readonly asked = new Set<string>();
  private wanted: Wanted | null = null;
  private direction = 1;
  private newest = 0;

  constructor(private readonly collection: string, private readonly key: string) {}

  /** Shows the rows from `row` on at a revision. */
  want(revision: number, row: number, newest: number): void {
    const before = this.wanted;
    if (before && before.revision !== revision) this.direction = Math.sign(revision - before.revision);
    this.newest = newest;
    // Slices begin at multiples of half a slice, so that scrolling finds loaded ones.
    this.wanted = { revision, row: Math.max(0, Math.floor((row - SLICE / 4) / (SLICE / 2)) * (SLICE / 2)) };
    const kept = this.kept.get(this.nameOf(this.wanted));
    if (kept) this.slice.value = kept;
    this.pump();
  }

  toggle(key: number): void {
    const next = new Set(this.toggled.value);
    if (!next.delete(key)) next.add(key);
    this.toggled.value = next;
    this.again();
  }

  /** Opens everything above a node, and says which row it has then, and its key. */
  async reveal(node: { path?: string; node_key?: number }): Promise<{ row: number; key: number }> {
    const at = this.wanted?.revision ?? this.newest;
    const found = await api.outline(this.collection, this.key, {
      ...node, revision: at, rows: SLICE, toggled: this.list(), blame: true,
    });
    if (found.opened.length > 0) {
      const next = new Set(this.toggled.value);
      for (const key of found.opened) {
        if (!next.delete(key)) next.add(key);
      }
      this.toggled.value = next;
    }
    const row = found.row + found.rows.findIndex((each) => each.node_key === found.found);
    if (this.wanted) this.want(at, row, this.newest);
    return { row, key: found.found ?? 0 };
  }

  /** Asks again for what is shown: after a change, or once the server is back. */
  again(): void {
    if (this.wanted) this.want(this.wanted.revision, this.wanted.row + SLICE / 4, this.newest);
  }

  private list(): string {
    return [...this.toggled.value].sort((a, b) => a - b).join(",");
  }

  private nameOf({ revision, row }: Wanted): string {
    return `${revision}/${row}/${this.list()}`;
  }

  /** The next slice that is worth a request: the wanted one first, then those on the way. */
  private next(): Wanted | null {
    const wanted = this.wanted;
    if (!wanted) return null;
    for (let step = 0; step <= AHEAD; step++) {
      const revision = wanted.revision + step * this.direction;
      if (revision < 1 || revision > this.newest) continue;
      const each = { revision, row: wanted.row };
      const name = this.nameOf(each);
      if (!this.kept.has(name) && !this.asked.has(name)) return each;
    }
    return null;
  }

  private pump(): void {
    while (this.asked.size < IN_FLIGHT) {
      const next = this.next();
      if (!next) return;
      // The wanted slice is requested alone: prefetching must not delay it.
      if (this.asked.size > 0 && this.wanted && !this.kept.has(this.nameOf(this.wanted)) && next.revision !== this.wanted.revision && this.asked.has(this.nameOf(this.wanted))) return;
      void this.load(next);
    }
  }

  private async load(each: Wanted): Promise<void> {
    const name = this.nameOf(each);
    this.asked.add(name);
    try {
      const outline = await api.outline(this.collection, this.key, {
        revision: each.revision, row: each.row, rows: SLICE, toggled: this.list(), blame: true,
      });
      this.keep(name, outline);
      this.show(each, outline);
    } catch (error) {
      if (this.wanted && each.revision === this.wanted.revision) {
        const is_removed = error instanceof Failure && error.status === 404;
        batch(() => {
          this.error.value = error;
          if (is_removed) this.slice.value = null;
        });
        // The reader decides whether to try again.
        this.asked.delete(name);
        return;
      }
    }
    this.asked.delete(name);
    this.pump();
  }

  private keep(name: string, outline: Outline): void {
    for (const version of outline.versions ?? []) this.versions.set(version.revision, version);
    this.kept.set(name, outline);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= KEPT) break;
      this.kept.delete(oldest);
    }
  }

  private show(each: Wanted, outline: Outline): void {
    const wanted = this.wanted;
    if (!wanted) return;
    const shown = this.slice.value;
    const far = Math.abs(each.revision - wanted.revision);
    const is_wanted = far === 0 && each.row === wanted.row;
    const is_nearer = !shown || (each.row === wanted.row && far < Math.abs(shown.revision - wanted.revision));
    if (!is_wanted && !is_nearer) return;
    batch(() => {
      this.slice.value = outline;
      if (is_wanted) this.error.value = null;
    });
  }
}
