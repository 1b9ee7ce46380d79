// The page that `anywhen export --html` writes: one document with its history, and no server.

import { render } from "preact";
import { useApi } from "../api";
import { DocumentPage } from "../document/page";
import { me } from "../session";
import "../style/base.css";
import "../style/parts.css";
import "../style/document.css";
import { localApi, type History } from "./local";

const data = document.getElementById("history")?.textContent;
const place = document.getElementById("app");
if (data && place) {
  const history = JSON.parse(data) as History;
  document.title = `${history.collection}/${history.key}`;
  useApi(localApi(history));
  // There is one document: a link to its collection leads nowhere, and in a frame of another page it would leave this one.
  document.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("a[href^='#']")) event.preventDefault();
  });
  me.value = { name: "", roles: ["view"], sql_role: null };
  render(
    <>
      <header class="top"><span class="brand">Anywhen</span><span class="muted">a history as of {history.versions[history.versions.length - 1]?.time.slice(0, 10)}, in one file</span></header>
      <DocumentPage collection={history.collection} docKey={history.key} />
    </>,
    place,
  );
}
