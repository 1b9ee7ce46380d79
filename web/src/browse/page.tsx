// The first page: collections and tables with their sizes and history, the documents of a collection, and changes as
// they happen.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, follow } from "../api";
import { bytes, count, dateTime, plural, timeOf } from "../format";
import { database, go, href, route } from "../route";
import { maySql, moment } from "../session";
import { Author, Button, Empty, Text, Wrong, useLoaded } from "../ui/kit";
import type { DocumentChange } from "../types";
import { quoted } from "../sql/names";

interface Item {
  schema: string;
  name: string;
  method: string;
  history: string;
  bytes: number | null;
  rows: number | null;
  isCollection: boolean;
}

/** The database of the collections. */
const USUAL = "postgres";
const DATABASES = "SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY 1";

/** Tables of all access methods; sizes are told where the server tells them. */
const TABLES = `SELECT n.nspname, c.relname, coalesce(a.amname, ''), coalesce(array_to_string(c.reloptions, ','), ''), c.relkind::text
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am a ON a.oid = c.relam
  WHERE c.relkind IN ('r', 'p', 'm', 'v') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
  ORDER BY 1, 2`;

async function items(at: string | null): Promise<Item[]> {
  // Collections are those of the usual database.
  const collections = database() !== null ? [] : at === null ? await api.collections() : await api.collections().catch(() => []);
  if (!maySql.value) return collections.map((each) => ({ schema: "public", name: each.name, method: "document", history: each.history, bytes: null, rows: null, isCollection: true }));
  const { rows } = await api.sql(TABLES, { timestamp: at });
  const known = new Map(collections.map((each) => [each.name, each]));
  return rows.map((row) => {
    const [schema, name, method, options, kind] = row.map(String) as [string, string, string, string, string];
    const collection = schema === "public" ? known.get(name) : undefined;
    const kept = /history=([^,]+)/.exec(options)?.[1];
    return {
      schema, name, method: kind === "v" ? "view" : kind === "m" ? `materialized view` : method,
      history: kind === "v" ? "" : collection?.history ?? kept ?? "forever",
      bytes: null, rows: null, isCollection: method === "document" && collection !== undefined,
    };
  });
}

/** Sizes and counts come after the list: they take longer. */
async function sizes(list: Item[]): Promise<Map<string, { bytes: number; rows: number }>> {
  const found = new Map<string, { bytes: number; rows: number }>();
  if (!maySql.value) return found;
  const wanted = list.filter((item) => item.method !== "view");
  await Promise.all(wanted.slice(0, 200).map(async (item) => {
    const name = `${quoted(item.schema)}.${quoted(item.name)}`;
    const { rows } = await api.sql("SELECT pg_total_relation_size($1::regclass), (SELECT n_live_tup FROM pg_stat_all_tables WHERE relid = $1::regclass)", { parameters: [name] });
    const [size, live] = rows[0] ?? [];
    found.set(`${item.schema}.${item.name}`, { bytes: Number(size ?? 0), rows: Number(live ?? 0) });
  }).map((each) => each.catch(() => undefined)));
  return found;
}

export function BrowsePage(): JSX.Element {
  const at = moment.value;
  const [, collection] = route.value.parts[0] === "in" ? route.value.parts : [];
  const db = database();
  const list = useLoaded(() => items(at), [at, db, maySql.value]);
  const databases = useLoaded(async () => (maySql.value ? (await api.sql(DATABASES, { database: USUAL })).rows.map((row) => String(row[0])) : []), [maySql.value]);
  const sized = useLoaded(() => sizes(list.value ?? []), [list.value]);
  const chosen = collection ?? list.value?.find((item) => item.isCollection)?.name ?? null;
  return (
    <main tabIndex={-1} id="main" class="browse">
      <section class="tables" aria-labelledby="tables-title">
        <h1 id="tables-title">Collections and tables</h1>
        {(databases.value?.length ?? 0) > 1 && (
          <label class="filter">Database
            <select value={db ?? USUAL} onChange={(event) => go([], { at, db: event.currentTarget.value === USUAL ? null : event.currentTarget.value })}>
              {databases.value?.map((name) => <option key={name} value={name}>{name}</option>)}
            </select>
          </label>
        )}
        {list.error !== null && <Wrong error={list.error} />}
        {list.value?.length === 0 && <Empty>There is nothing yet{at === null ? "" : " at this moment"}. <code>anywhen put articles/a1 '{"{}"}'</code> makes a document.</Empty>}
        {list.value !== null && list.value.length > 0 && (
          <table>
            <thead><tr><th scope="col">Name</th><th scope="col">Kept as</th><th scope="col">History</th>{maySql.value && <><th scope="col" class="num">Rows</th><th scope="col" class="num">Size</th></>}</tr></thead>
            <tbody>
              {list.value.map((item) => {
                const size = sized.value?.get(`${item.schema}.${item.name}`);
                const to = item.isCollection ? href(["in", item.name], { at }) : href(["table", item.schema, item.name], { at });
                return (
                  <tr key={`${item.schema}.${item.name}`} class={item.isCollection && item.name === chosen ? "chosen" : ""}>
                    <th scope="row"><a href={to}>{item.schema !== "public" && <span class="muted"><Text of={item.schema} max={40} />.</span>}<Text of={item.name} max={63} /></a>
                      {item.isCollection && maySql.value && <> <a class="small muted" href={href(["table", item.schema, item.name], { at })}>rows</a></>}</th>
                    <td><Text of={item.method} /></td>
                    <td>{item.history}</td>
                    {maySql.value && <><td class="num">{size ? count(size.rows) : ""}</td><td class="num">{size ? bytes(size.bytes) : ""}</td></>}
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
      </section>
      {db !== null ? <section class="documents hint"><Empty>Documents over HTTP are those of the database {USUAL}. Here they are rows of their tables.</Empty></section>
        : chosen !== null ? <Documents key={chosen} collection={chosen} /> : <section class="documents hint"><Empty>Pick a collection to see its documents.</Empty></section>}
      {db === null && <Live collection={chosen} />}
    </main>
  );
}

const PAGE = 200;

function Documents({ collection }: { collection: string }): JSX.Element {
  const at = moment.value;
  const [prefix, setPrefix] = useState("");
  const [after, setAfter] = useState<string[]>([]);
  const { value, error } = useLoaded(
    () => api.keys(collection, { prefix, after: after[after.length - 1], limit: PAGE, timestamp: at }),
    [prefix, after, at],
  );
  return (
    <section class="documents" aria-labelledby="documents-title">
      <h2 id="documents-title">Documents in <Text of={collection} max={63} /></h2>
      <label class="filter">Keys that begin with <input value={prefix} onInput={(event) => { setAfter([]); setPrefix(event.currentTarget.value); }} /></label>
      {error !== null && <Wrong error={error} />}
      {value?.documents.length === 0 && <Empty>No documents{prefix === "" ? "" : " with such a key"}.</Empty>}
      <ul class="keys">
        {value?.documents.map((key) => <li key={key}><a href={href(["doc", collection, key], { at })}><Text of={key} max={120} /></a></li>)}
      </ul>
      <div class="actions">
        {after.length > 0 && <Button onClick={() => setAfter(after.slice(0, -1))}>Previous page</Button>}
        {value?.next && <Button onClick={() => setAfter([...after, value.next ?? ""])}>Next page</Button>}
      </div>
    </section>
  );
}

/** How far back the list of changes begins, in commits. */
const BACK = 100;
const SHOWN = 60;

function Live({ collection }: { collection: string | null }): JSX.Element {
  const [changes, setChanges] = useState<DocumentChange[]>([]);
  useEffect(() => {
    setChanges([]);
    let waiting: DocumentChange[] = [];
    let end: (() => void) | null = null;
    let wanted = true;
    void api.ready().then(({ csn }) => {
      if (!wanted) return;
      end = follow({ from: Math.max(0, csn - BACK), collection }, (change) => {
        waiting.unshift(change);
        // Many changes at once are one drawing.
        if (waiting.length === 1) requestAnimationFrame(() => {
          const come = waiting;
          waiting = [];
          setChanges((old) => [...come, ...old].slice(0, SHOWN));
        });
      });
    }, () => undefined);
    return () => {
      wanted = false;
      end?.();
    };
  }, [collection]);
  const at = moment.value;
  return (
    <section class="live" aria-labelledby="live-title">
      <h2 id="live-title">Newest changes</h2>
      {changes.length === 0 && <Empty>No changes of documents in the last {plural(BACK, "commit")}.</Empty>}
      <ol>
        {changes.map((change) => (
          <li key={`${change.csn}/${change.collection}/${change.key}`}>
            <a href={href(["doc", change.collection, change.key], { rev: change.revision, view: change.revision > 1 ? "changes" : null, at })}><Text of={change.collection} max={30} />/<Text of={change.key} max={50} /></a>
            <span class="muted"> revision {count(change.revision)}</span>{change.deleted && <span class="badge delete">removed</span>}
            <div class="small"><Author name={change.author} /> <time>{dateTime(timeOf(change))}</time></div>
            {change.message !== "" && <div class="small muted"><Text of={change.message} max={100} /></div>}
          </li>
        ))}
      </ol>
    </section>
  );
}
