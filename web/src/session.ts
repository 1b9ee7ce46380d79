// The session of the reader: name, rights, and the moment at which all pages read the data.

import { computed, signal } from "@preact/signals";
import { Failure, api, locked, useToken } from "./api";
import { route, setParams } from "./route";
import type { Token } from "./types";

/** The identity of the reader, as the server states it; null before the first answer. */
export const me = signal<Token | null>(null);
/** The name that changes are signed with, where the server asks nobody who they are. */
export const author = signal("");

export type Right = "view" | "create" | "modify" | "delete";
const RIGHTS: Right[] = ["view", "create", "modify", "delete"];

/** True where the server asks for no token. */
export const isOpen = computed(() => me.value !== null && me.value.name === "");

/** True where the token gives a right in a collection, or in all of them. */
export function may(right: Right, collection?: string): boolean {
  const roles = me.value?.roles ?? [];
  return roles.includes(right) || (collection !== undefined && roles.includes(`${collection}-${right}`));
}

/** True where the reader may run SQL: it takes all rights, and a role unless the server is open. */
export const maySql = computed(() => {
  const known = me.value;
  return known !== null && RIGHTS.every((right) => known.roles.includes(right)) && (isOpen.value || known.sql_role !== null);
});

/** Asks the server who the reader is: with the token that is given, else by the session of this browser. `stay` begins
 * a session with the token, so that the page can be loaded again; the token is forgotten then. */
export async function enter(token: string | null, stay = false): Promise<void> {
  useToken(token);
  try {
    const known = await api.whoAmI();
    if (token !== null && stay) {
      await api.beginSession();
      useToken(null);
    }
    me.value = known;
    locked.value = false;
  } catch (error) {
    if (!(error instanceof Failure && error.status === 401)) throw error;
    locked.value = true;
    if (token !== null) throw error;
  }
}

/** Ends the session of this browser, and forgets the token. If the server does not end the session, the reader stays
 * signed in: a page that looked signed out would be signed in again when it is loaded again. */
export async function leave(): Promise<void> {
  await api.endSession();
  useToken(null);
  me.value = null;
  await enter(null);
}

/** The moment at which all pages look at the data: a time of RFC 3339; null for now. */
export const moment = computed(() => {
  const text = route.value.params.get("at");
  // An address that somebody has typed may hold anything.
  const time = text === undefined ? NaN : Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
});

export function setMoment(time: string | null): void {
  setParams({ at: time, rev: null }, true);
}
