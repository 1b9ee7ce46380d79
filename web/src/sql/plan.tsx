// A plan as a tree: what each step does, how many rows it was thought to give and gave, and how long it took.

import type { JSX } from "preact";
import { count } from "../format";
import type { Json, Rows } from "../types";
import { Text } from "../ui/kit";

export interface PlanNode {
  title: string;
  details: [string, string][];
  rows: number;
  actual: number | null;
  ms: number | null;
  children: PlanNode[];
}

export interface Plan {
  root: PlanNode;
  planning_ms: number | null;
  execution_ms: number | null;
}

type Fields = Record<string, Json>;

/** The plan in the answer of `EXPLAIN (FORMAT JSON)`. */
export function planOf(rows: Rows): Plan | null {
  let told = rows.rows[0]?.[0] ?? null;
  if (typeof told === "string") told = JSON.parse(told) as Json;
  const first = Array.isArray(told) ? told[0] : null;
  if (first === null || first === undefined || typeof first !== "object" || Array.isArray(first)) return null;
  const fields = first as Fields;
  const plan = fields["Plan"];
  if (plan === null || typeof plan !== "object" || Array.isArray(plan)) return null;
  const number = (value: Json | undefined) => (typeof value === "number" ? value : null);
  return { root: node(plan as Fields), planning_ms: number(fields["Planning Time"]), execution_ms: number(fields["Execution Time"]) };
}

const SHOWN_APART = new Set([
  "Node Type", "Plans", "Plan Rows", "Actual Rows", "Actual Total Time", "Actual Startup Time", "Actual Loops", "Parallel Aware", "Async Capable",
  "Plan Width", "Startup Cost", "Relation Name", "Index Name", "Alias", "Parent Relationship", "Scan Direction",
]);

function node(fields: Fields): PlanNode {
  const text = (name: string) => (fields[name] === undefined || fields[name] === null ? "" : String(fields[name]));
  const loops = Number(fields["Actual Loops"] ?? 1);
  const children = Array.isArray(fields["Plans"]) ? fields["Plans"] : [];
  const on = [text("Index Name") && `using ${text("Index Name")}`, text("Relation Name") && `on ${text("Relation Name")}`].filter(Boolean).join(" ");
  return {
    title: `${text("Node Type")} ${on}`.trim(),
    details: Object.entries(fields).filter(([name, value]) => !SHOWN_APART.has(name) && value !== null).map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : String(value)]),
    rows: Number(fields["Plan Rows"] ?? 0),
    actual: fields["Actual Rows"] === undefined ? null : Number(fields["Actual Rows"]) * loops,
    ms: fields["Actual Total Time"] === undefined ? null : Number(fields["Actual Total Time"]) * loops,
    children: children.map((child) => node(child as unknown as Fields)),
  };
}

export function PlanView({ plan }: { plan: Plan }): JSX.Element {
  const total = plan.root.ms ?? 0;
  return (
    <div class="plan">
      <p class="muted">
        {plan.planning_ms !== null && `planned in ${plan.planning_ms} ms`}{plan.execution_ms !== null && `, ran for ${plan.execution_ms} ms`}
      </p>
      <ul><Step of={plan.root} total={total} /></ul>
    </div>
  );
}

function Step({ of, total }: { of: PlanNode; total: number }): JSX.Element {
  const own = of.ms === null ? null : Math.max(0, of.ms - of.children.reduce((sum, child) => sum + (child.ms ?? 0), 0));
  const part = own !== null && total > 0 ? own / total : 0;
  return (
    <li>
      <div class="step">
        <strong><Text of={of.title} max={160} /></strong>
        <span class="muted"> {of.actual !== null ? `${count(of.actual)} rows, ${count(of.rows)} expected` : `${count(of.rows)} rows expected`}{own !== null && `, ${own.toFixed(3)} ms here`}</span>
        {total > 0 && <meter min={0} max={1} value={part} aria-label={`part of the time: ${Math.round(part * 100)} %`} />}
        {of.details.length > 0 && <div class="small muted">{of.details.map(([name, value]) => <span key={name} class="detail">{name}: <Text of={value} max={200} /></span>)}</div>}
      </div>
      {of.children.length > 0 && <ul>{of.children.map((child, at) => <Step key={at} of={child} total={total} />)}</ul>}
    </li>
  );
}
