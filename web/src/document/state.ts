// The state of the page of a document: which revision is looked at, which one it is compared with, which node.

import { computed, effect, signal } from "@preact/signals";
import { api, follow } from "../api";
import { moment } from "../session";
import { numberParam, param, route, setParams } from "../route";
import type { DocumentChange, NodeVersion } from "../types";
import { DocHistory, revisionBy } from "./history";
import { Slices } from "./slices";

export type View = "tree" | "text" | "changes";
const VIEWS: readonly string[] = ["tree", "text", "changes"];
/** How long the reader must rest on a revision before the address says it. */
const SETTLED_MS = 200;
/** The field that labels the axis unless the reader picks another. */
const FLAG_PATH = "$.version";
/** The newest so many values are flags. */
const FLAGS_MAX = 500;
const PLAY_MS = 350;
const PLAY_FRAME_MS = 33;

export class DocState {
  readonly history: DocHistory;
  readonly slices: Slices;
  /** The revision that is looked at; 0 until the history is known. */
  readonly cursor = signal(0);
  readonly playing = signal(false);
  readonly byTime = signal(true);
  readonly flags = signal<NodeVersion[]>([]);
  /** The path of the field whose values are the flags of the axis. */
  readonly flagPath = signal(param("flag") ?? FLAG_PATH);
  /** The node whose history is shown. */
  readonly selected = signal<number | null>(numberParam("node"));
  readonly blame = signal(true);
  /** The newest change of somebody else, until the reader has seen it. */
  readonly news = signal<DocumentChange | null>(null);
  readonly view = computed<View>(() => {
    const text = param("view") ?? "tree";
    return VIEWS.includes(text) ? (text as View) : "tree";
  });
  /** The revision that the one in view is compared with: the one before it unless the reader picks another. */
  readonly compare = computed(() => numberParam("compare"));
  private settle: ReturnType<typeof setTimeout> | undefined;
  private player: ReturnType<typeof setInterval> | undefined;
  private readonly ends: (() => void)[] = [];

  constructor(readonly collection: string, readonly key: string) {
    this.history = new DocHistory(collection, key);
    this.slices = new Slices(collection, key);
  }

  get newest(): number {
    return this.history.newest;
  }

  get isNewest(): boolean {
    return this.cursor.value === this.newest;
  }

  async start(): Promise<void> {
    await this.history.load();
    // The address says where the reader is: by a revision, by a moment, or not at all.
    this.ends.push(effect(() => {
      const revision = numberParam("rev");
      const at = moment.value;
      void route.value;
      if (this.newest === 0) return;
      if (revision !== null) this.look(Math.min(revision, this.newest));
      else if (at !== null) void revisionBy(this.history, at).then((found) => this.look(found ?? 1));
      else this.look(this.newest);
    }));
    this.ends.push(follow({ collection: this.collection, key: this.key }, (change) => void this.changed(change)));
    void this.loadFlags();
  }

  stop(): void {
    this.pause();
    clearTimeout(this.settle);
    for (const end of this.ends) end();
  }

  private look(revision: number): void {
    if (this.cursor.peek() !== revision) this.cursor.value = revision;
  }

  /** Moves to a revision. The address follows once the reader rests. */
  move(revision: number): void {
    const next = Math.max(1, Math.min(this.newest, revision));
    this.cursor.value = next;
    clearTimeout(this.settle);
    this.settle = setTimeout(() => setParams({ rev: next === this.newest && moment.value === null ? null : next }), SETTLED_MS);
  }

  show(view: View, compare: number | null = this.compare.value): void {
    setParams({ view: view === "tree" ? null : view, compare, rev: this.isNewest ? null : this.cursor.value }, true);
  }

  select(node: number | null): void {
    this.selected.value = node;
    setParams({ node });
  }

  play(): void {
    if (this.playing.value) {
      this.pause();
      return;
    }
    if (this.isNewest) this.cursor.value = 1;
    this.playing.value = true;
    // A long history plays in about ten seconds, a short one version by version.
    const steps = Math.max(1, Math.round(this.newest / (10_000 / PLAY_FRAME_MS)));
    const every = this.newest <= 100 ? PLAY_MS : PLAY_FRAME_MS;
    this.player = setInterval(() => {
      this.move(this.cursor.value + (this.newest <= 100 ? 1 : steps));
      if (this.isNewest) this.pause();
    }, every);
  }

  pause(): void {
    clearInterval(this.player);
    this.playing.value = false;
  }

  /** Goes to the version of a time. */
  async jump(time: string): Promise<boolean> {
    const found = await revisionBy(this.history, time);
    if (found !== null) this.move(found);
    return found !== null;
  }

  /** Labels the axis by another field. */
  flagBy(path: string): void {
    this.flagPath.value = path === "" ? FLAG_PATH : path;
    setParams({ flag: this.flagPath.value === FLAG_PATH ? null : path });
    void this.loadFlags();
  }

  /** The values of the field that labels the axis. */
  async loadFlags(): Promise<void> {
    try {
      const { versions } = await api.nodeHistory(this.collection, this.key, { path: this.flagPath.value, limit: FLAGS_MAX });
      this.flags.value = versions.filter((run) => run.value !== null && typeof run.value !== "object");
    } catch {
      // The document has no such field.
      this.flags.value = [];
    }
  }

  /** After a change of this page: the newest version is in view. */
  async changedHere(): Promise<void> {
    await this.history.load();
    this.move(this.newest);
    this.slices.again();
    void this.loadFlags();
  }

  private async changed(change: DocumentChange): Promise<void> {
    if (change.revision <= this.newest) return;
    const was_newest = this.isNewest;
    await this.history.load();
    void this.loadFlags();
    this.news.value = change;
    if (was_newest && numberParam("rev") === null && moment.value === null) this.cursor.value = this.newest;
  }
}
