// Small drawings for buttons.

import type { JSX } from "preact";

const PATHS = {
  first: "M4 3v10M13 3 6 8l7 5z",
  back: "M11 3 4 8l7 5z",
  play: "M4 2.5v11L14 8z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  next: "m5 3 7 5-7 5z",
  last: "M12 3v10M3 3l7 5-7 5z",
} as const;

export function Icon({ name }: { name: keyof typeof PATHS }): JSX.Element {
  return <svg class="icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true"><path d={PATHS[name]} /></svg>;
}
