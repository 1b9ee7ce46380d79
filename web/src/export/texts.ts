// An exported page compares nodes alone: an editor would make each file larger than most histories.

import type { JSX } from "preact";

export function TextCompare(_props: object): JSX.Element | null {
  return null;
}
export const comparesTexts = false;
