// The forms of the server's answers, by the names that `GET /openapi.yaml` gives them. `tests/explorer` compares the two.

import type { Exact } from "./exact";

export type Json = null | boolean | number | string | Exact | Json[] | { [name: string]: Json };

export interface Token {
  name: string;
  roles: string[];
  sql_role: string | null;
}

export interface Collection {
  name: string;
  history: string;
  hashes: boolean;
  path_summary: boolean;
}

export interface Version {
  revision: number;
  csn: number;
  time: string;
  authored: string | null;
  author: string;
  role: string | null;
  message: string;
  deleted: boolean;
  kept?: boolean;
}

export interface DensityBucket {
  from: number;
  to: number;
  from_time: string;
  to_time: string;
  authors: { author: string; count: number }[];
}

export interface Density {
  from: number;
  to: number;
  oldest: number;
  newest: Version | null;
  buckets: DensityBucket[];
}

export type NodeType = "object" | "array" | "string" | "number" | "boolean" | "null";

export interface OutlineRow {
  node_key: number;
  depth: number;
  name?: string;
  name_length?: number;
  index?: number;
  type: NodeType;
  children?: number;
  open?: boolean;
  text?: string;
  text_length?: number;
  changed: number;
}

export interface SearchFound {
  revision: number;
  found: number | null;
  path: string | null;
  wrapped: boolean;
}

export interface Session {
  name: string;
  roles: string[];
  sql_role: string | null;
  expires_in: number;
}

export interface Outline {
  revision: number;
  csn: number;
  nodes: number;
  total: number;
  row: number;
  found: number | null;
  opened: number[];
  above: OutlineRow[];
  rows: OutlineRow[];
  versions?: Version[];
}

export interface NodeVersion {
  node_key: number;
  from_revision: number;
  to_revision: number | null;
  from_time: string;
  to_time: string | null;
  authored: string | null;
  author: string;
  role: string | null;
  message: string;
  value: Json;
}

/** The changes of a version inside of a container. */
export interface ContainerVersion {
  node_key: number;
  from_revision: number;
  to_revision: number | null;
  from_time: string;
  to_time: string | null;
  authored: string | null;
  author: string;
  role: string | null;
  message: string;
  is_new: boolean;
  changes_total: number;
  changes: Change[];
}

export interface MostOften {
  value: Json;
  revisions: number;
  micros: number;
  from_revision: number;
}

/** Figures over all values of a node. `numbers` has `[revision, value, time]` for a plot. */
export interface NodeSummary {
  versions: number;
  values: number;
  most_often: MostOften | null;
  numbers: Json[] | null;
}

export interface NodeHistory {
  versions: NodeVersion[];
  earlier?: number | null;
  summary?: NodeSummary;
}

export interface NodeChanges {
  versions: ContainerVersion[];
  earlier: number | null;
}

export type ChangeOp = "insert" | "update" | "delete" | "move" | "rename" | "replace";

export interface Change {
  node_key: number;
  path: string;
  op: ChangeOp;
  old?: Json;
  new?: Json;
  from?: string;
  old_node_key?: number;
  parent_node_key?: number;
}

export interface Diff {
  from: number;
  to: number;
  changes: Change[];
}

export interface Committed {
  revision: number;
  csn: number;
  time: string;
  changed: boolean;
}

export interface DocumentChange {
  csn: number;
  collection: string;
  key: string;
  revision: number;
  deleted: boolean;
  time: string;
  authored: string | null;
  author: string;
  role: string | null;
  message: string;
}

export interface Rows {
  columns: { name: string; type: string }[];
  rows: Json[][];
  command: string;
  count: number | null;
}
