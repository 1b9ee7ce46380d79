// The client of the server's HTTP routes. It sends the token with each request and turns each error into a `Failure`.

import { signal } from "@preact/signals";
import { parse } from "./exact";
import { database } from "./route";
import type {
  Collection, Committed, Density, Diff, DocumentChange, Json, NodeChanges, NodeHistory, Outline, Rows, Session, Token, Version,
} from "./types";

const VALUE = ',"value":';

/** The token of this page. It lives in memory alone: no storage, no cookie, no address has it. Without it the session
 * of this browser counts, which a cookie stands for that no script can read. */
let token: string | null = null;
/** The header with which the server looks at that cookie. No page of another origin can send it. */
const SESSION = { "Anywhen-Session": "cookie" };

/** True while the last request could not reach the server. */
export const offline = signal(false);
/** True while the server refuses the token, or wants one. */
export const locked = signal(false);

/** An answer of the server that is an error, in its words. */
export class Failure extends Error {
  constructor(readonly status: number, message: string, readonly sqlstate: string | null = null) {
    super(message);
  }
}

/** The server could not be reached. */
export class Unreachable extends Error {
  constructor() {
    super("The server does not answer.");
  }
}

export function useToken(given: string | null): void {
  token = given;
}

export type Params = Record<string, string | number | boolean | null | undefined>;

function query(params: Params): string {
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (given.length === 0) return "";
  return `?${given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&")}`;
}

interface Ask {
  method?: string;
  params?: Params;
  body?: string;
  media?: string;
  ifMatch?: string | null;
  accept?: string;
  signal?: AbortSignal;
  /** Sends the mark of the session, also where the page has a token. */
  bySession?: boolean;
}

async function ask(path: string, { method = "GET", params = {}, body, media, ifMatch, accept, signal: cancel, bySession = false }: Ask = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: accept ?? "application/json" };
  if (token !== null && !bySession) headers["Authorization"] = `Bearer ${token}`;
  else Object.assign(headers, SESSION);
  if (body !== undefined) headers["Content-Type"] = media ?? "application/json";
  if (ifMatch) headers["If-Match"] = ifMatch;
  let answer: Response;
  try {
    answer = await fetch(path + query(params), { method, headers, body, signal: cancel, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    offline.value = true;
    throw new Unreachable();
  }
  offline.value = false;
  if (answer.ok) return answer;
  const failure = await failed(answer);
  if (answer.status === 401) locked.value = true;
  throw failure;
}

async function failed(answer: Response): Promise<Failure> {
  try {
    const problem = (await answer.json()) as { detail?: string; sqlstate?: string };
    return new Failure(answer.status, problem.detail ?? answer.statusText, problem.sqlstate ?? null);
  } catch {
    return new Failure(answer.status, answer.statusText);
  }
}

async function json<T>(path: string, asked?: Ask): Promise<T> {
  return parse(await (await ask(path, asked)).text()) as T;
}

/** The address of a document, or of something below it. */
function at(collection: string, key: string, rest = ""): string {
  return `/v1/collections/${encodeURIComponent(collection)}/documents/${encodeURIComponent(key)}${rest}`;
}

export interface Change {
  ifMatch?: string | null;
  author?: string;
  message?: string;
}

/** The parameters that say who makes a change, and why. */
function why({ author, message }: Change): Params {
  return { author, message };
}

const http = {
  whoAmI: () => json<Token>("/token"),
  /** Signs this browser in with the token of the page: it stays signed in when the page is loaded again. */
  beginSession: () => json<Session>("/v1/session", { method: "POST" }),
  /** Signs this browser out. */
  async endSession(): Promise<void> {
    await ask("/v1/session", { method: "DELETE", bySession: true });
  },
  ready: () => json<{ csn: number }>("/ready"),
  metrics: async () => (await ask("/metrics", { accept: "text/plain" })).text(),
  collections: async () => (await json<{ collections: Collection[] }>("/v1/collections")).collections,
  keys: (collection: string, params: Params) =>
    json<{ documents: string[]; next: string | null }>(`/v1/collections/${encodeURIComponent(collection)}/documents`, { params }),

  density: (c: string, k: string, params: Params = {}) => json<Density>(at(c, k, "/versions/density"), { params }),
  versions: async (c: string, k: string, params: Params) =>
    (await json<{ versions: Version[] }>(at(c, k, "/versions"), { params })).versions,
  outline: (c: string, k: string, params: Params, cancel?: AbortSignal) =>
    json<Outline>(at(c, k, "/outline"), { params, signal: cancel }),
  /** The text of a document, and its tag. */
  async text(c: string, k: string, params: Params = {}): Promise<{ text: string; tag: string | null }> {
    const answer = await ask(at(c, k), { params });
    return { text: await answer.text(), tag: answer.headers.get("etag") };
  },
  /** The tag of the newest version; null where there is no document. */
  async tag(c: string, k: string): Promise<string | null> {
    try {
      return (await ask(at(c, k), { params: { max_level: 1, max_children: 0 } })).headers.get("etag");
    } catch (error) {
      if (error instanceof Failure && error.status === 404) return null;
      throw error;
    }
  },
  tree: (c: string, k: string, revision: number) =>
    json<Json>(at(c, k), { params: { revision, metadata: "nodeKey" } }),
  /** The value of a node as the server writes it, digit for digit. */
  async nodeText(c: string, k: string, params: Params): Promise<string> {
    const text = await (await ask(at(c, k, "/node"), { params })).text();
    // The value is the last member. No string before it can hold this text: its quotes would be escaped.
    return text.slice(text.indexOf(VALUE) + VALUE.length, -1);
  },
  nodeHistory: (c: string, k: string, params: Params) => json<NodeHistory>(at(c, k, "/node/history"), { params }),
  nodeChanges: (c: string, k: string, params: Params) => json<NodeChanges>(at(c, k, "/node/changes"), { params }),
  diff: (c: string, k: string, from: number, to: number) => json<Diff>(at(c, k, "/diff"), { params: { from, to } }),

  put: (c: string, k: string, text: string, change: Change) =>
    json<Committed>(at(c, k), { method: "PUT", body: text, params: why(change), ifMatch: change.ifMatch }),
  setNode: (c: string, k: string, node: Params, value: string, change: Change) =>
    json<Committed>(at(c, k, "/node"), { method: "PUT", body: value, params: { ...node, ...why(change) }, ifMatch: change.ifMatch }),
  revert: (c: string, k: string, revision: number, change: Change) =>
    json<Committed>(at(c, k, "/revert"), { method: "POST", params: { revision, ...why(change) }, ifMatch: change.ifMatch }),

  sql: (sql: string, given: { parameters?: Json[]; timestamp?: string | null; database?: string | null; timeout?: number; signal?: AbortSignal } = {}) =>
    json<Rows>("/v1/sql", {
      method: "POST",
      body: JSON.stringify({ sql, parameters: given.parameters ?? [] }),
      params: { timestamp: given.timestamp, database: given.database ?? database(), timeout: given.timeout },
      signal: given.signal,
    }),

  /** Calls back with each change as it happens, until it is cancelled. Throws where the connection is lost. */
  async follow(params: Params, cancel: AbortSignal, told: (change: DocumentChange) => void): Promise<void> {
    const answer = await ask("/v1/changes", { params, accept: "text/event-stream", signal: cancel });
    if (!answer.body) return;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = (rest + value).split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) {
        const lines = event.split("\n");
        if (!lines.includes("event: change")) continue;
        const data = lines.find((line) => line.startsWith("data: "));
        if (data) told(JSON.parse(data.slice(6)) as DocumentChange);
      }
    }
  },
};

/** The source of the data: the server, or the history inside an exported page. */
export type Api = typeof http;
export let api: Api = http;

export function useApi(other: Api): void {
  api = other;
}

/** How long a page waits before it asks again after the stream has ended. */
const RETRY_MS = 2000;

/** Resolves once the page is in view. */
function inView(): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("visibilitychange", () => resolve(), { once: true }));
}

/** Follows changes for as long as the page wants them, and misses none: after a pause it goes on from the last commit.
 * A page that is out of view holds no stream, because browsers open few connections to one server. */
export function follow(params: Params, told: (change: DocumentChange) => void): () => void {
  let ended = false;
  let stream = new AbortController();
  const hide = () => {
    if (document.hidden) stream.abort();
  };
  document.addEventListener("visibilitychange", hide);
  void (async () => {
    let from = params["from"];
    while (!ended) {
      await inView();
      if (ended) return;
      stream = new AbortController();
      try {
        from ??= (await api.ready()).csn;
        await api.follow({ ...params, from }, stream.signal, (change) => {
          from = change.csn;
          told(change);
        });
      } catch {
        // The banner says that the server does not answer, or the page asks for a token.
      }
      if (!document.hidden) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  })();
  return () => {
    ended = true;
    document.removeEventListener("visibilitychange", hide);
    stream.abort();
  };
}
