// The versions of a document: their density over time, and each version near the reader. The page never loads a whole
// long history: the server sends the density in buckets, and versions in pages.

import { signal } from "@preact/signals";
import { api } from "../api";
import { timeOf } from "../format";
import type { Density, DensityBucket, Version } from "../types";

const PAGE = 100;
/** Up to this many versions are drawn one by one. */
export const SINGLE_MAX = 240;
const BUCKETS = 240;

export class DocHistory {
  /** The whole history, in buckets. */
  readonly density = signal<Density | null>(null);
  /** The part that the axis draws: the whole history, or the span that the reader zoomed into. */
  readonly shown = signal<Density | null>(null);
  readonly error = signal<unknown>(null);
  /** Counts the loaded pages. Components that call `version` read it, so that they are drawn again. */
  readonly loaded = signal(0);
  private readonly pages = new Map<number, Version[] | "asked">();

  constructor(readonly collection: string, readonly key: string) {}

  get newest(): number {
    return this.density.value?.newest?.revision ?? 0;
  }

  async load(): Promise<void> {
    try {
      const density = await api.density(this.collection, this.key, { buckets: BUCKETS });
      const was = this.density.value;
      const follows = this.shown.value === null || was === null || this.shown.value.to === was.to;
      this.density.value = density;
      // The newest page may have got more versions.
      this.pages.delete(Math.floor((this.newest - 1) / PAGE));
      if (follows && (this.shown.value === null || this.shown.value.from === was?.from)) this.shown.value = density;
      this.error.value = null;
    } catch (error) {
      this.error.value = error;
    }
  }

  /** Draws the revisions from one to another. */
  async zoom(from: number, to: number): Promise<void> {
    const all = this.density.value;
    if (all === null) return;
    if (from <= all.from && to >= all.to) {
      this.shown.value = all;
      return;
    }
    this.shown.value = await api.density(this.collection, this.key, { buckets: BUCKETS, from: Math.max(1, from), to: Math.min(all.to, to) });
  }

  /** A version, once its page has come. Asks for the page. */
  version(revision: number): Version | null {
    if (revision < 1 || revision > this.newest) return null;
    const newest = this.density.value?.newest;
    const page = this.pages.get(Math.floor((revision - 1) / PAGE));
    if (Array.isArray(page)) return page[(revision - 1) % PAGE] ?? null;
    this.ask(Math.floor((revision - 1) / PAGE));
    return newest?.revision === revision ? newest : null;
  }

  /** Requests a page of versions, once. */
  private ask(number: number): void {
    if (this.pages.has(number)) return;
    this.pages.set(number, "asked");
    const from = number * PAGE + 1;
    const to = Math.min(from + PAGE - 1, this.newest);
    api.versions(this.collection, this.key, { from, to }).then(
      (versions) => {
        const page: Version[] = [];
        for (const version of versions) page[version.revision - from] = version;
        this.pages.set(number, page);
        this.loaded.value += 1;
      },
      () => {
        this.pages.delete(number);
      },
    );
  }
}

/** Places revisions along a line from 0 to 1, by time or one after the other. */
export class Scale {
  private readonly begin: number;
  private readonly length: number;

  constructor(readonly density: Density, readonly byTime: boolean) {
    const { buckets, from, to } = density;
    const first = buckets[0];
    const last = buckets[buckets.length - 1];
    this.begin = byTime && first ? Date.parse(first.from_time) : from;
    const end = byTime && last ? Date.parse(last.to_time) : to;
    this.length = Math.max(end - this.begin, byTime ? 1 : 0);
  }

  private place(value: number): number {
    return this.length === 0 ? 0.5 : (value - this.begin) / this.length;
  }

  private bucketOf(revision: number): DensityBucket | undefined {
    let low = 0;
    let high = this.density.buckets.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.density.buckets[middle]?.to ?? 0) < revision) low = middle + 1;
      else high = middle;
    }
    return this.density.buckets[low];
  }

  /** Where a revision stands. */
  of(revision: number): number {
    if (!this.byTime) return this.place(revision);
    const bucket = this.bucketOf(revision);
    if (!bucket) return 0;
    const from = Date.parse(bucket.from_time);
    const to = Date.parse(bucket.to_time);
    const part = bucket.to === bucket.from ? 0 : (revision - bucket.from) / (bucket.to - bucket.from);
    return this.place(from + (to - from) * Math.max(0, Math.min(1, part)));
  }

  /** The revision that stands nearest. */
  revisionAt(place: number): number {
    const { from, to, buckets } = this.density;
    if (!this.byTime) return Math.max(from, Math.min(to, Math.round(from + place * (to - from))));
    const time = this.begin + place * this.length;
    let best = to;
    let distance = Infinity;
    for (const bucket of buckets) {
      const begin = Date.parse(bucket.from_time);
      const end = Date.parse(bucket.to_time);
      const near = time < begin ? begin - time : time > end ? time - end : 0;
      if (near < distance) {
        distance = near;
        const part = end === begin ? (time < begin ? 0 : 1) : Math.max(0, Math.min(1, (time - begin) / (end - begin)));
        best = Math.round(bucket.from + part * (bucket.to - bucket.from));
      }
      if (begin > time) break;
    }
    return best;
  }

  /** The time at a place. */
  timeAt(place: number): number {
    if (this.byTime) return this.begin + place * this.length;
    const bucket = this.bucketOf(this.revisionAt(place));
    return bucket ? Date.parse(bucket.from_time) : 0;
  }
}

/** The newest version that was made by a time. */
export async function revisionBy(history: DocHistory, time: string): Promise<number | null> {
  const limit = Date.parse(time);
  const buckets = history.density.value?.buckets ?? [];
  const bucket = buckets.filter((each) => Date.parse(each.from_time) <= limit).pop();
  if (!bucket) return null;
  if (Date.parse(bucket.to_time) <= limit) return bucket.to;
  let low = bucket.from;
  let high = bucket.to;
  while (low < high) {
    const middle = low + Math.ceil((high - low) / 2);
    const [version] = await api.versions(history.collection, history.key, { from: middle, to: middle });
    if (version && Date.parse(timeOf(version)) <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}
