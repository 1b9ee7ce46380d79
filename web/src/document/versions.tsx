// The list of versions, newest first: who made each, when and why.

import type { JSX } from "preact";
import { count, dateTime, timeOf } from "../format";
import { Author, Text } from "../ui/kit";
import { VirtualRows } from "../ui/rows";
import { headline } from "./axis";
import type { DocState } from "./state";

const ROW = 46;

export function Versions({ state }: { state: DocState }): JSX.Element {
  void state.history.loaded.value;
  const newest = state.newest;
  const cursor = state.cursor.value;
  const keys = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: cursor - 1, ArrowUp: cursor + 1, Home: newest, End: 1 };
    const next = moves[event.key];
    if (next === undefined) return;
    event.preventDefault();
    state.move(next);
  };
  return (
    <section class="versions" aria-label="Versions">
      <VirtualRows total={newest} rowHeight={ROW} reveal={newest - cursor}
        attributes={{ role: "listbox", tabIndex: 0, "aria-label": "Versions, newest first", "aria-activedescendant": `version-${cursor}`, onKeyDown: keys }}>
        {(first, shown) => Array.from({ length: shown }, (_, at) => {
          const revision = newest - first - at;
          const version = state.history.version(revision);
          return (
            <div key={revision} id={`version-${revision}`} class="version" role="option" aria-selected={revision === cursor} onClick={() => state.move(revision)}>
              <span class="version-number">{count(revision)}</span>
              {version && <>
                <span class="version-message">{version.deleted ? <span class="badge delete">removed</span> : <Text of={headline(version)} max={90} />}</span>
                <span class="version-by"><Author name={version.author} /> <time>{dateTime(timeOf(version))}</time></span>
              </>}
            </div>
          );
        })}
      </VirtualRows>
    </section>
  );
}
