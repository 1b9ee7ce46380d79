// Parts of a page that are loaded when they are first shown.

import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Wrong } from "../ui/kit";

/** A component whose module is fetched when it is first drawn. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let known: ComponentType<P> | null = null;
  return function Lazy(props: P): JSX.Element {
    const [, setTurn] = useState(0);
    const [error, setError] = useState<unknown>(null);
    useEffect(() => {
      if (known !== null) return;
      load().then((found) => {
        known = found;
        setTurn((turn) => turn + 1);
      }, setError);
    }, []);
    if (error !== null) return <Wrong error={error} />;
    if (known === null) return <div class="loading" aria-busy="true" />;
    const Found = known;
    return <Found {...props} />;
  };
}
