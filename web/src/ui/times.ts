// Labels of a time axis of uPlot, day before month as everywhere in the explorer.

import { date } from "../format";

const DAY_S = 86_400;

/** The labels of places on the axis, in seconds since 1970. */
export function timeLabels(_plot: unknown, places: number[]): string[] {
  const length = (places[places.length - 1] ?? 0) - (places[0] ?? 0);
  let before = "";
  return places.map((place) => {
    const time = new Date(place * 1000);
    const day = date(time.toISOString()).replace(/ \d{4}$/, length > 300 * DAY_S ? "$&" : "");
    if (length > 2 * DAY_S) return day;
    const hour = time.toISOString().slice(11, length > 600 ? 16 : 19);
    const label = day === before ? hour : `${hour}\n${day}`;
    before = day;
    return label;
  });
}
