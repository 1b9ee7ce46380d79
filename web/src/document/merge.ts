// Two revisions of a document as one list of rows: unchanged, added and removed nodes, and both places of a node that
// moved. Nodes are told apart by their keys, so a node that moved is one node in two places.

import type { Change, ChangeOp, Json } from "../types";

export interface TreeNode {
  key: number;
  name: string | null;
  index: number | null;
  /** The value of a scalar; undefined for containers. */
  value: Json | undefined;
  isArray: boolean;
  children: TreeNode[];
}

/** `gone`: the place that a node has moved away from. */
export type Status = "same" | "insert" | "delete" | "update" | "rename" | "move" | "gone" | "within";

export interface MergedRow {
  depth: number;
  status: Status;
  old: TreeNode | null;
  new: TreeNode | null;
  /** Where it was, of a node that has moved or has another name. */
  from: string | null;
  /** Rows that are left out here, all unchanged; 0 for an ordinary row. */
  folded: number;
}

interface Meta {
  nodeKey: number;
}

/** Reads a document as the server writes it with the keys of its nodes. */
export function readTree(json: Json, name: string | null = null, index: number | null = null): TreeNode {
  const part = json as unknown as { metadata: Meta; value: Json };
  const { metadata, value } = part;
  const node: TreeNode = { key: metadata.nodeKey, name, index, value: undefined, isArray: false, children: [] };
  if (Array.isArray(value)) {
    const items = value as unknown as { key?: string; metadata: Meta; value: Json }[];
    node.isArray = items.length > 0 && items[0]?.key === undefined;
    node.children = items.map((item, at) => readTree(item as unknown as Json, item.key ?? null, item.key === undefined ? at : null));
  } else if (value !== null && typeof value === "object" && Object.keys(value).length === 0) {
    node.children = [];
  } else {
    node.value = value;
  }
  return node;
}

function keysOf(node: TreeNode, into = new Map<number, TreeNode>()): Map<number, TreeNode> {
  into.set(node.key, node);
  for (const child of node.children) keysOf(child, into);
  return into;
}

/** Merges two revisions. `changes` is the server's difference between them. */
export function merge(before: TreeNode, after: TreeNode, changes: Change[]): MergedRow[] {
  const oldKeys = keysOf(before);
  const newKeys = keysOf(after);
  const ops = new Map<number, Map<ChangeOp, Change>>();
  for (const change of changes) {
    const known = ops.get(change.node_key) ?? new Map<ChangeOp, Change>();
    known.set(change.op, change);
    ops.set(change.node_key, known);
  }
  const rows: MergedRow[] = [];
  const all = (node: TreeNode, depth: number, status: Status, isOld: boolean, from: string | null = null) => {
    rows.push({ depth, status, old: isOld ? node : null, new: isOld ? null : node, from, folded: 0 });
    // The row at the new place shows the content of a node that moved away.
    if (status === "gone") return;
    for (const child of node.children) {
      // A child may have moved into a new node, or out of a removed one.
      const moved = ops.get(child.key)?.get("move");
      const below = isOld && newKeys.has(child.key) ? "gone" : !isOld && oldKeys.has(child.key) ? "move" : status;
      all(child, depth + 1, below, isOld, moved?.from ?? null);
    }
  };
  const walk = (old: TreeNode, now: TreeNode, depth: number, isTop: boolean) => {
    const of = ops.get(now.key);
    const moved = of?.get("move");
    const renamed = of?.get("rename");
    const status: Status = moved ? "move" : of?.has("update") || of?.has("replace") ? "update" : renamed ? "rename" : "same";
    rows.push({ depth, status: isTop && status !== "update" ? "same" : status, old, new: now, from: moved?.from ?? (typeof renamed?.old === "string" ? renamed.old : null), folded: 0 });
    const here = new Set(now.children.map((child) => child.key));
    const was = new Set(old.children.map((child) => child.key));
    // Old children that stand here no more follow the sibling that they followed.
    const following = new Map<number, TreeNode[]>();
    let last = 0;
    for (const child of old.children) {
      const left = !here.has(child.key);
      const away = ops.get(child.key)?.has("move") ?? false;
      if (left || away) {
        const list = following.get(last) ?? [];
        list.push(child);
        following.set(last, list);
      } else {
        last = child.key;
      }
    }
    const gone = (after_key: number) => {
      for (const child of following.get(after_key) ?? []) all(child, depth + 1, newKeys.has(child.key) ? "gone" : "delete", true);
    };
    gone(0);
    for (const child of now.children) {
      const known = oldKeys.get(child.key);
      if (known) walk(known, child, depth + 1, false);
      else all(child, depth + 1, "insert", false);
      if (was.has(child.key)) gone(child.key);
    }
  };
  if (before.key === after.key) walk(before, after, 0, true);
  else {
    all(before, 0, "delete", true);
    all(after, 0, "insert", false);
  }
  return rows;
}

const CONTEXT = 1;

/** Leaves out what is unchanged, but for the rows around a change and those above it. `open` has the folds to show. */
export function fold(rows: MergedRow[], open: ReadonlySet<number>): MergedRow[] {
  const keep = new Uint8Array(rows.length);
  const above: number[] = [];
  rows.forEach((row, at) => {
    above[row.depth] = at;
    if (row.status === "same" || row.status === "within") return;
    for (let depth = 0; depth < row.depth; depth++) keep[above[depth] ?? 0] = 1;
    for (let near = Math.max(0, at - CONTEXT); near <= Math.min(rows.length - 1, at + CONTEXT); near++) keep[near] = 1;
  });
  const folded: MergedRow[] = [];
  let at = 0;
  while (at < rows.length) {
    const begin = at;
    while (at < rows.length && !keep[at]) at++;
    const length = at - begin;
    const first = rows[begin];
    if (length > 0 && first) {
      if (length <= 2 || open.has(begin)) folded.push(...rows.slice(begin, at));
      else folded.push({ ...first, old: null, new: null, status: "same", folded: length, from: String(begin) });
    }
    const row = rows[at];
    if (row) folded.push(row);
    at++;
  }
  return folded;
}
