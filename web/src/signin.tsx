// Asks for a token. It stays in memory; a reader who wants to stay signed in gets a session, which a cookie stands for.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Failure, locked } from "./api";
import { enter } from "./session";
import { Button, Dialog, Wrong, wordsOf } from "./ui/kit";

/** `again`: the token has expired while the page was in use; the page stays below the dialog. */
export function SignIn({ again = false }: { again?: boolean }): JSX.Element {
  const [token, setToken] = useState("");
  const [stay, setStay] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await enter(token.trim(), stay);
      setToken("");
    } catch (failure) {
      setError(failure instanceof Failure && failure.status === 401
        ? "The server does not know this token. Tokens are made with `anywhen token create`."
        : wordsOf(failure));
    }
    setBusy(false);
  };
  const form = (
    <form class="sign-in" onSubmit={(event) => void submit(event)}>
      <p>{again ? "The token has expired or was revoked. What you were doing is kept." : "This server wants to know who you are."}</p>
      <label>Token
        <input type="password" name="token" autocomplete="current-password" required value={token} onInput={(event) => setToken(event.currentTarget.value)} />
      </label>
      <label class="check"><input type="checkbox" checked={stay} onChange={(event) => setStay(event.currentTarget.checked)} /> Stay signed in, until the browser is closed, for 8 hours at most</label>
      <p class="muted small">No address, cookie or storage has the token. To stay signed in, a cookie that no script can read stands for it, in this browser alone.</p>
      {error !== null && <Wrong error={new Error(error)} />}
      <div class="actions"><Button kind="main" type="submit" disabled={busy || token === ""}>Sign in</Button></div>
    </form>
  );
  if (again) return <Dialog title="Sign in again" onClose={() => { locked.value = false; }}>{form}</Dialog>;
  return <main tabIndex={-1} class="narrow"><h1>Sign in</h1>{form}</main>;
}
