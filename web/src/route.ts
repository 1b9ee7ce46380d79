// Where the reader is: the part of the address after `#`. Browsers send it to no server, so keys of documents and
// moments stay out of logs, and a link can be shared.
//
//     #/doc/samples/settings?rev=7&compare=3      #/table/public/product?at=2026-04-01T00:00:00Z

import { signal } from "@preact/signals";

export interface Route {
  /** The page and what it shows, decoded. */
  parts: string[];
  params: Map<string, string>;
}

export const route = signal<Route>(read(location.hash));

function read(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const decode = (part: string) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  const parts = path.split("/").filter((part) => part !== "").map(decode);
  const params = new Map(query.split("&").filter((pair) => pair !== "").map((pair) => {
    const [name = "", value = ""] = pair.split("=", 2);
    return [decode(name), decode(value)] as const;
  }));
  return { parts, params };
}

addEventListener("hashchange", () => {
  route.value = read(location.hash);
});

/** The database of SQL that the pages look at; null for the usual one. Links lead on in the same. */
export function database(): string | null {
  return param("db");
}

/** The address of a page. Parameters without a value are left out. */
export function href(parts: string[], params: Record<string, string | number | null | undefined> = {}): string {
  const path = parts.map(encodeURIComponent).join("/");
  const given = Object.entries({ db: database(), ...params }).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = given.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`).join("&");
  return `#/${path}${query ? `?${query}` : ""}`;
}

/** Changes parameters of the address. It becomes no entry of the browser's history unless `push` says so. */
export function setParams(changes: Record<string, string | number | null | undefined>, push = false): void {
  const params: Record<string, string> = Object.fromEntries(route.value.params);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") delete params[name];
    else params[name] = String(value);
  }
  const next = href(route.value.parts, params);
  if (next === href(route.value.parts, Object.fromEntries(route.value.params))) return;
  try {
    if (push) history.pushState(null, "", next);
    else history.replaceState(null, "", next);
  } catch {
    // A page in a frame without an origin cannot change its address: where the reader is stays in memory.
  }
  route.value = read(next);
}

export function go(parts: string[], params: Record<string, string | number | null | undefined> = {}): void {
  location.hash = href(parts, params);
}

export function param(name: string): string | null {
  return route.value.params.get(name) ?? null;
}

/** A parameter that is a whole number from 1. */
export function numberParam(name: string): number | null {
  const text = param(name);
  return text !== null && /^[1-9]\d*$/.test(text) ? Number(text) : null;
}
