// A history that is in the page: it answers what the server would, for `anywhen export --html`.
//
//     {"versions": [...], "nodes": {"4": [[1, "n", "counter", "0"], [7, "n", "counter", "1"], [9]]}}
//
// A node has a line for each of its changes: revision, kind, name, value. A revision alone says that it is gone.

import { Failure, type Api, type Params } from "../api";
import { timeOf } from "../format";
import { Exact, write } from "../exact";
import type {
  Change, ContainerVersion, Density, Diff, Json, MostOften, NodeChanges, NodeHistory, NodeSummary, NodeType, NodeVersion, Outline, OutlineRow, Version,
} from "../types";

type Kind = "o" | "a" | "s" | "n" | "b" | "l";
type State = [revision: number, kind: Kind, name: string | null, value: string | number[]];

export interface History {
  collection: string;
  key: string;
  versions: Version[];
  nodes: Record<string, (State | [number])[]>;
}

const TYPES: Record<Kind, NodeType> = { o: "object", a: "array", s: "string", n: "number", b: "boolean", l: "null" };

/** The tree at one revision. */
class Tree {
  readonly parents = new Map<number, number>();

  constructor(private readonly history: LocalHistory, readonly revision: number) {}

  node(key: number): State | null {
    return this.history.at(key, this.revision);
  }

  children(key: number): number[] {
    const state = this.node(key);
    return state && Array.isArray(state[3]) ? state[3] : [];
  }

  /** All nodes in the order of the document, each with its parent. */
  walk(each: (key: number, state: State, parent: number | null, index: number, depth: number) => boolean): void {
    const enter = (key: number, parent: number | null, index: number, depth: number) => {
      const state = this.node(key);
      if (!state) return;
      if (parent !== null) this.parents.set(key, parent);
      if (!each(key, state, parent, index, depth)) return;
      this.children(key).forEach((child, at) => enter(child, key, at, depth + 1));
    };
    enter(this.history.root(this.revision), null, 0, 0);
  }

  json(key: number): string {
    const state = this.node(key);
    if (!state) return "null";
    const [, kind, , value] = state;
    if (kind === "s") return JSON.stringify(value);
    if (!Array.isArray(value)) return value;
    if (kind === "a") return `[${value.map((child) => this.json(child)).join(",")}]`;
    return `{${value.map((child) => `${JSON.stringify(this.node(child)?.[2] ?? "")}:${this.json(child)}`).join(",")}}`;
  }

  value(key: number): Json {
    const state = this.node(key);
    if (!state) return null;
    const [, kind, , value] = state;
    if (Array.isArray(value)) return JSON.parse(this.json(key)) as Json;
    if (kind === "s") return value;
    const read = JSON.parse(value) as Json;
    return kind === "n" && String(read) !== value ? new Exact(value) : read;
  }

  withKeys(key: number): Json {
    const state = this.node(key);
    const metadata = { nodeKey: key };
    if (!state) return null;
    if (!Array.isArray(state[3])) return { metadata, value: this.value(key) };
    const children = state[3].map((child) => {
      const part = this.withKeys(child) as Record<string, Json>;
      return state[1] === "o" ? { key: this.node(child)?.[2] ?? "", ...part } : part;
    });
    return { metadata, value: children.length === 0 ? (state[1] === "a" ? [] : {}) : children };
  }

  path(key: number): string {
    const parent = this.parents.get(key);
    if (parent === undefined) return "$";
    const name = this.node(key)?.[2] ?? null;
    if (name === null) return `${this.path(parent)}[${this.children(parent).indexOf(key)}]`;
    return `${this.path(parent)}${/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`}`;
  }

  find(path: string): number | null {
    let found: number | null = null;
    this.walk((key) => {
      if (found === null && this.path(key) === path) found = key;
      return found === null;
    });
    return found;
  }
}

class LocalHistory {
  private readonly nodes = new Map<number, (State | [number])[]>();

  constructor(readonly history: History) {
    for (const [key, changes] of Object.entries(history.nodes)) this.nodes.set(Number(key), changes);
  }

  changes(key: number): (State | [number])[] {
    return this.nodes.get(key) ?? [];
  }

  at(key: number, revision: number): State | null {
    const found = this.changes(key).filter((change) => change[0] <= revision).pop();
    return found && found.length > 1 ? (found as State) : null;
  }

  root(revision: number): number {
    // The root is the live node that is no child of another node.
    const there = [...this.nodes.keys()].filter((key) => this.at(key, revision));
    const below = new Set(there.flatMap((key) => {
      const value = this.at(key, revision)?.[3];
      return Array.isArray(value) ? value : [];
    }));
    return there.find((key) => !below.has(key)) ?? 0;
  }

  tree(revision: number): Tree {
    if (this.version(revision)?.deleted !== false) throw new Failure(404, "the document is removed at this revision");
    return new Tree(this, revision);
  }

  version(revision: number): Version | undefined {
    return this.history.versions[revision - 1];
  }
}

/** The longest run of `places` that ascends: what is not in it has moved. */
function ascending(places: number[]): Set<number> {
  const best: number[] = [];
  const before: number[] = [];
  places.forEach((place, at) => {
    let low = 0;
    let high = best.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((places[best[middle] ?? 0] ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    before[at] = low > 0 ? best[low - 1] ?? -1 : -1;
    best[low] = at;
  });
  const kept = new Set<number>();
  for (let at = best[best.length - 1] ?? -1; at >= 0; at = before[at] ?? -1) kept.add(at);
  return kept;
}

function compare(old: Tree, now: Tree): Change[] {
  const changes: Change[] = [];
  const before = new Set<number>();
  old.walk((key) => before.add(key) !== undefined);
  const after = new Set<number>();
  now.walk((key, state, parent) => {
    after.add(key);
    const was = old.node(key);
    if (!before.has(key) || !was) {
      changes.push({ node_key: key, path: now.path(key), op: "insert", new: now.value(key) });
      return false;
    }
    if (parent !== null && old.parents.get(key) !== parent) changes.push({ node_key: key, path: now.path(key), op: "move", from: old.path(key) });
    if (was[2] !== state[2] && was[2] !== null && state[2] !== null) changes.push({ node_key: key, path: now.path(key), op: "rename", old: was[2], new: state[2] });
    if (!Array.isArray(state[3]) && (was[3] !== state[3] || was[1] !== state[1])) changes.push({ node_key: key, path: now.path(key), op: "update", old: old.value(key), new: now.value(key) });
    const siblings = old.children(key);
    const stayed = now.children(key).filter((child) => siblings.includes(child));
    const kept = ascending(stayed.map((child) => siblings.indexOf(child)));
    stayed.forEach((child, at) => {
      if (!kept.has(at)) changes.push({ node_key: child, path: `${now.path(key)}[${now.children(key).indexOf(child)}]`, op: "move", from: old.path(child) });
    });
    return true;
  });
  old.walk((key) => {
    if (after.has(key)) return true;
    if (now.node(key) === null) changes.push({ node_key: key, path: old.path(key), op: "delete", old: old.value(key) });
    return false;
  });
  return changes;
}

/** Tells whether a change is inside of a container, in one of two versions. */
function within(key: number, old: Tree, now: Tree): (change: Change) => boolean {
  for (const tree of [old, now]) tree.walk(() => true);
  const isBelow = (tree: Tree, node: number) => {
    for (let parent = tree.parents.get(node); parent !== undefined; parent = tree.parents.get(parent)) if (parent === key) return true;
    return false;
  };
  return (change) => isBelow(old, change.node_key) || isBelow(now, change.node_key);
}

/** The values that are a text, or where none is, those that contain it. */
function having(runs: NodeVersion[], text: string): NodeVersion[] {
  const wanted = text.toLowerCase();
  if (wanted === "") return runs;
  const lower = (run: NodeVersion) => write(run.value).toLowerCase();
  const whole = runs.filter((run) => lower(run) === wanted || (typeof run.value === "string" && run.value.toLowerCase() === wanted));
  return whole.length > 0 ? whole : runs.filter((run) => lower(run).includes(wanted));
}

/** How often each value was there: in how many revisions, and for how long. */
function summed(runs: NodeVersion[], newest: number): NodeSummary {
  const came = (run: NodeVersion) => Date.parse(run.authored ?? run.from_time);
  const found = new Map<string, MostOften>();
  runs.forEach((run, at) => {
    const text = write(run.value);
    const next = runs[at + 1];
    const until = next && run.to_revision === next.from_revision - 1 ? came(next) : run.to_time ? Date.parse(run.to_time) : Date.now();
    const known = found.get(text) ?? { value: run.value, revisions: 0, micros: 0, from_revision: run.from_revision };
    known.revisions += (run.to_revision ?? newest) - run.from_revision + 1;
    known.micros += Math.max(0, until - came(run)) * 1000;
    found.set(text, known);
  });
  const [most] = [...found.values()].sort((a, b) => b.revisions - a.revisions || b.micros - a.micros);
  const isNumber = runs.length > 1 && runs.every((run) => typeof run.value === "number");
  return {
    versions: runs.length, values: found.size, most_often: most ?? null,
    numbers: isNumber ? runs.map((run) => [run.from_revision, run.value, run.authored ?? run.from_time]) : null,
  };
}

function number(params: Params, name: string, otherwise: number): number {
  const value = params[name];
  return value === undefined || value === null || value === "" ? otherwise : Number(value);
}

export function localApi(history: History): Api {
  const local = new LocalHistory(history);
  const newest = history.versions.length;

  const density = (params: Params): Density => {
    const [from, to] = [number(params, "from", 1), number(params, "to", newest)];
    let latest = 0;
    const buckets = history.versions.slice(from - 1, to).map((version) => {
      latest = Math.max(latest, Date.parse(timeOf(version)));
      const time = new Date(latest).toISOString();
      return { from: version.revision, to: version.revision, from_time: time, to_time: time, authors: [{ author: version.author, count: 1 }] };
    });
    return { from, to, oldest: 1, newest: history.versions[newest - 1] ?? null, buckets };
  };

  const outline = (params: Params): Outline => {
    const revision = number(params, "revision", newest);
    const tree = local.tree(revision);
    const depth_open = number(params, "depth", 2);
    const text_max = number(params, "text_max", 200);
    const toggled = new Set(String(params["toggled"] ?? "").split(",").filter(Boolean).map(Number));
    let found: number | null = null;
    const opened: number[] = [];
    if (params["path"] || params["node_key"]) {
      found = params["node_key"] ? Number(params["node_key"]) : tree.find(String(params["path"]));
      if (found === null || !tree.node(found)) throw new Failure(404, "there is no such node in this version");
      tree.walk(() => true);
      const above: number[] = [];
      for (let key = tree.parents.get(found); key !== undefined; key = tree.parents.get(key)) above.unshift(key);
      above.forEach((key, depth) => {
        if ((depth < depth_open) !== toggled.has(key)) return;
        opened.push(key);
        if (!toggled.delete(key)) toggled.add(key);
      });
    }
    const all: OutlineRow[] = [];
    let nodes = 0;
    tree.walk(() => ++nodes > 0);
    tree.walk((key, state, parent, index, depth) => {
      const [, kind, name, value] = state;
      const row: OutlineRow = { node_key: key, depth, type: TYPES[kind], changed: state[0] };
      if (name !== null) row.name = name;
      else if (parent !== null) row.index = index;
      const is_open = (depth < depth_open) !== toggled.has(key);
      if (Array.isArray(value)) {
        row.children = value.length;
        row.open = is_open;
      } else {
        row.text = value.slice(0, text_max);
        if (value.length > text_max) row.text_length = value.length;
      }
      all.push(row);
      return is_open;
    });
    const rows = number(params, "rows", 100);
    const at = found === null ? 0 : all.findIndex((row) => row.node_key === found);
    const row = number(params, "row", Math.max(0, at - Math.floor(rows / 2)));
    const shown = all.slice(row, row + rows);
    const versions = [...new Set(shown.map((each) => each.changed))].map((each) => local.version(each)).filter((each) => each !== undefined);
    return { revision, csn: 0, nodes, total: all.length, row, found, opened, above: [], rows: shown, versions };
  };

  /** The values of one node; gaps where it was gone. */
  const runsOf = (key: number): NodeVersion[] => {
    const runs: NodeVersion[] = [];
    for (const change of local.changes(key)) {
      const last = runs[runs.length - 1];
      const version = local.version(change[0]);
      if (!version) continue;
      const end = () => {
        if (last && last.to_revision === null) Object.assign(last, { to_revision: change[0] - 1, to_time: version.time });
      };
      if (change.length === 1) {
        end();
        continue;
      }
      const value = new Tree(local, change[0]).value(key);
      if (last && last.to_revision === null && JSON.stringify(last.value) === JSON.stringify(value)) continue;
      end();
      const { time, authored, author, role, message } = version;
      runs.push({ node_key: key, from_revision: change[0], to_revision: null, from_time: time, to_time: null, authored, author, role, message, value });
    }
    return runs;
  };

  /** The node that is named, by its key or by its path in the newest revision that has it. */
  const named = (params: Params): number => {
    if (params["node_key"]) return Number(params["node_key"]);
    for (let revision = newest; revision >= 1; revision--) {
      if (local.version(revision)?.deleted) continue;
      const key = local.tree(revision).find(String(params["path"]));
      if (key !== null) return key;
    }
    throw new Failure(404, "no node was ever there");
  };

  const nodeHistory = (params: Params): NodeHistory => {
    const key = named(params);
    const limit = number(params, "limit", Infinity);
    const before = number(params, "before", Infinity);
    const all = runsOf(key);
    const kept = having(all, String(params["having"] ?? "")).filter((run) => run.from_revision < before);
    const versions = limit === Infinity ? kept : kept.slice(-limit);
    const first = versions[0];
    return { versions, earlier: kept.length > versions.length && first ? first.from_revision : null, summary: summed(all, newest) };
  };

  /** The changes inside of a container by its newest versions before a revision. */
  const nodeChanges = (params: Params): NodeChanges => {
    const key = named(params);
    const limit = number(params, "limit", Infinity);
    const before = number(params, "before", Infinity);
    const versions: ContainerVersion[] = [];
    let to: number | null = before === Infinity ? null : before - 1;
    let earlier: number | null = null;
    for (let revision = Math.min(before - 1, newest); revision >= 1; revision--) {
      const version = local.version(revision);
      if (!version || version.deleted || !local.at(key, revision)) {
        to = revision - 1;
        continue;
      }
      const was = revision > 1 && local.version(revision - 1)?.deleted === false && local.at(key, revision - 1) !== null;
      const now = local.tree(revision);
      const changes = was ? compare(local.tree(revision - 1), now).filter(within(key, local.tree(revision - 1), now)) : [];
      if (was && changes.length === 0) continue;
      if (versions.length === limit) {
        earlier = versions[versions.length - 1]?.from_revision ?? null;
        break;
      }
      const next = to === null ? undefined : local.version(to + 1);
      const { time, authored, author, role, message } = version;
      versions.push({
        node_key: key, from_revision: revision, to_revision: to, from_time: time, to_time: next?.time ?? null, authored, author, role, message,
        is_new: !was, changes_total: changes.length, changes: changes.slice(0, 20),
      });
      to = revision - 1;
    }
    return { versions: versions.reverse(), earlier };
  };

  const diff = (from: number, to: number): Diff => ({ from, to, changes: from === to ? [] : compare(local.tree(from), local.tree(to)) });

  const refused = () => Promise.reject(new Failure(501, "This page shows a history. It has no database."));
  return {
    whoAmI: () => Promise.resolve({ name: "", roles: ["view"], sql_role: null }),
    beginSession: refused, endSession: refused, ready: refused, metrics: refused, collections: refused, keys: refused, sql: refused, put: refused, setNode: refused, revert: refused,
    density: async (_c, _k, params = {}) => density(params),
    versions: async (_c, _k, params) => history.versions.slice(number(params, "from", 1) - 1, number(params, "to", newest)),
    outline: async (_c, _k, params) => outline(params),
    text: async (_c, _k, params = {}) => {
      const tree = local.tree(number(params, "revision", newest));
      return { text: tree.json(local.root(tree.revision)), tag: null };
    },
    tag: async () => null,
    tree: async (_c, _k, revision) => local.tree(revision).withKeys(local.root(revision)),
    nodeText: async (_c, _k, params) => local.tree(number(params, "revision", newest)).json(number(params, "node_key", 0)),
    nodeHistory: async (_c, _k, params) => nodeHistory(params),
    nodeChanges: async (_c, _k, params) => nodeChanges(params),
    diff: async (_c, _k, from, to) => diff(from, to),
    // Nothing happens to a history that is in a page.
    follow: () => new Promise(() => undefined),
  };
}
