// The moment that all pages look at: now, or a time that the reader picks. It is part of the address.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { dateTime } from "./format";
import { moment, setMoment } from "./session";
import { Button } from "./ui/kit";

/** A time as an input of type `datetime-local` wants it: in the time zone of the reader. */
function local(time: string): string {
  const when = new Date(time);
  return new Date(when.getTime() - when.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export function MomentPicker(): JSX.Element {
  const at = moment.value;
  const [open, setOpen] = useState(false);
  const [picked, setPicked] = useState("");
  if (open) {
    const apply = (event: Event) => {
      event.preventDefault();
      if (picked !== "") setMoment(new Date(picked).toISOString());
      setOpen(false);
    };
    return (
      <form class="moment" onSubmit={apply} onKeyDown={(event) => { if (event.key === "Escape") setOpen(false); }}>
        <label class="visually-hidden" for="as-of">As of</label>
        <input id="as-of" type="datetime-local" step="1" required autoFocus value={picked} onInput={(event) => setPicked(event.currentTarget.value)} />
        <Button kind="main" type="submit">Go</Button>
        <Button kind="quiet" onClick={() => setOpen(false)}>Cancel</Button>
      </form>
    );
  }
  const begin = () => {
    setPicked(local(at ?? new Date().toISOString()));
    setOpen(true);
  };
  return (
    <div class={`moment${at === null ? "" : " past"}`}>
      <Button kind="quiet" onClick={begin} title="Look at everything as it was at a moment">
        <span aria-hidden="true">◷</span> {at === null ? "as of now" : `as of ${dateTime(at)}`}
      </Button>
      {at !== null && <Button kind="quiet" onClick={() => setMoment(null)} label="Back to now">✕</Button>}
    </div>
  );
}
