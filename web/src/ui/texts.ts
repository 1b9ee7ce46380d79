// How two texts are compared. An exported page has another module in this place: it stays small.

import { lazy } from "../document/lazy";

export const TextCompare = lazy(async () => (await import("./compare")).TextCompare);
export const comparesTexts = true;
