// Starts the explorer: draws the page at once, then asks the server who the reader is.

import { render } from "preact";
import { App } from "./app";
import { enter } from "./session";
import "./style/base.css";
import "./style/parts.css";
import "./style/document.css";

const place = document.getElementById("app");
if (place) {
  place.textContent = "";
  render(<App />, place);
}
// Where the server does not answer, the banner says so.
enter(null).catch(() => undefined);
