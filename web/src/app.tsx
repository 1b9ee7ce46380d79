// The frame around all pages: where one can go, the moment that all pages look at, who the reader is.

import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { locked, offline } from "./api";
import { enter, isOpen, leave, me, maySql, moment } from "./session";
import { href, route } from "./route";
import { SignIn } from "./signin";
import { MomentPicker } from "./moment";
import { Author, Button, Wrong } from "./ui/kit";
import { DocumentPage } from "./document/page";
import { BrowsePage } from "./browse/page";

/** The pages that are loaded when they are first opened. */
const LATER = new Map<string, () => Promise<ComponentType>>([
  ["table", async () => (await import("./rows/page")).RowsPage],
  ["sql", async () => (await import("./sql/page")).SqlPage],
  ["server", async () => (await import("./server/page")).ServerPage],
]);

function Later({ name }: { name: string }): JSX.Element {
  const [page, setPage] = useState<{ of: string; draw: ComponentType } | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    setError(null);
    LATER.get(name)?.().then((draw) => setPage({ of: name, draw }), setError);
  }, [name]);
  if (error !== null) return <main><Wrong error={error} /></main>;
  if (page?.of !== name) return <main aria-busy="true" />;
  const Page = page.draw;
  return <Page />;
}

function Page(): JSX.Element {
  const [name = "", ...rest] = route.value.parts;
  if (name === "doc" && rest.length === 2) {
    const [collection = "", key = ""] = rest;
    return <DocumentPage key={`${collection}/${key}`} collection={collection} docKey={key} />;
  }
  if (LATER.has(name)) return <Later name={name} />;
  return <BrowsePage />;
}

function NavLink({ to, name, children }: { to: string; name: string; children: string }): JSX.Element {
  const here = route.value.parts[0] ?? "";
  const active = here === name || (name === "" && (here === "doc" || here === "in"));
  return <a href={to} aria-current={active ? "page" : undefined}>{children}</a>;
}

function Who(): JSX.Element | null {
  const known = me.value;
  const [isRefused, setRefused] = useState(false);
  if (known === null) return null;
  const signOut = () => {
    setRefused(false);
    leave().catch(() => setRefused(me.value !== null));
  };
  if (isOpen.value) return <span class="who muted" title="The server asks nobody for a token: every program on this machine may do everything.">open server</span>;
  const rights = known.roles.length > 0 ? known.roles.join(", ") : "nothing";
  return (
    <span class="who">
      <Author name={known.name} /> <span class="muted" title={`SQL role: ${known.sql_role ?? "none"}`}>may {rights}</span>
      <Button kind="quiet" onClick={signOut}>Sign out</Button>
      {isRefused && <span class="wrong" role="alert">You are still signed in: the server did not end the session.</span>}
    </span>
  );
}

export function App(): JSX.Element {
  const at = moment.value;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.querySelector<HTMLElement>("main")?.focus(); }}>Skip to the content</a>
      <header class="top">
        <a class="brand" href={href([], { at })}>Anywhen</a>
        <nav aria-label="Pages">
          <NavLink to={href([], { at })} name="">Browse</NavLink>
          {maySql.value && <NavLink to={href(["sql"], { at })} name="sql">SQL</NavLink>}
          {me.value && <NavLink to={href(["server"], { at })} name="server">Server</NavLink>}
        </nav>
        <MomentPicker />
        <Who />
      </header>
      {offline.value && <div class="banner" role="status">The server does not answer. This page goes on with what it has, and tries again.<Button kind="quiet" onClick={() => void enter(null).catch(() => undefined)}>Try now</Button></div>}
      {locked.value && me.value !== null && <SignIn again />}
      {me.value === null ? (locked.value ? <SignIn /> : <main tabIndex={-1} aria-busy="true" />) : <Page />}
    </>
  );
}
