// Requests to the server of this page, and the feeds that it keeps open.

const RETRY_MS = 1500;

// The address brings a key, which only pages of this port can read.
const [, brought] = location.hash.match(/^#key=([\w-]+)$/) || [];
let key = brought;
try {
  if (brought) localStorage.setItem('key', brought);
  key ||= localStorage.getItem('key');
} catch { /* no storage in this browser: only this tab has the key */ }
if (brought) history.replaceState(null, '', '/');

/** A request's failure, in the words of the server that refused it. */
export class Refused extends Error {
  constructor(kind, text) {
    super(text);
    this.kind = kind;
  }
}

async function answer(response) {
  if (response.ok) return response;
  const text = await response.text();
  let problem = { kind: response.status === 403 ? 'session' : 'other', text };
  try {
    problem = JSON.parse(text);
  } catch { /* not JSON: the guard refused in plain text */ }
  throw new Refused(problem.kind, problem.text);
}

async function send(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: { ...options.headers, 'x-pdj-key': key || '' } });
  } catch (error) {
    throw new Refused('ended', String(error.message || error));
  }
  return answer(response);
}

export const getJson = async (path) => (await send(path)).json();
export const getText = async (path) => (await send(path)).text();
export const post = (path, body) => send(path, {
  method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' },
});

/**
 * Follows a feed until `close`, while the page is visible. Starts again when the feed breaks.
 * `take` gets each message. After a problem that waiting does not solve, the feed waits for `again`.
 */
export class Feed {
  constructor(path, take) {
    this.path = path;
    this.take = take;
    this.isOpen = true;
    this.abort = null;
    this.wake = null;
    this.seen = () => (document.hidden ? this.abort?.abort() : this.again());
    document.addEventListener('visibilitychange', this.seen);
    this.run();
  }

  close() {
    this.isOpen = false;
    document.removeEventListener('visibilitychange', this.seen);
    this.abort?.abort();
    this.again();
  }

  /** Try again now. */
  again() {
    this.wake?.();
  }

  async run() {
    while (this.isOpen) {
      let waits = document.hidden;
      if (!waits) {
        try {
          waits = await this.follow();
        } catch (error) {
          if (!this.isOpen) return;
          if (error.name !== 'AbortError') {
            const problem = error instanceof Refused ? error : new Refused('ended', String(error));
            this.take({ type: 'problem', kind: problem.kind, text: problem.message });
            waits = problem.kind === 'session';
          }
        }
      }
      if (!this.isOpen) return;
      await new Promise((wake) => {
        this.wake = wake;
        if (!waits && !document.hidden) setTimeout(wake, RETRY_MS);
      });
    }
  }

  /** Read the feed to its end. Returns true if a problem ended it that waiting does not solve. */
  async follow() {
    this.abort = new AbortController();
    const response = await send(this.path, { signal: this.abort.signal });
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    let last = null;
    this.take({ type: 'opened' });
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (!line || !this.isOpen) continue;
        last = JSON.parse(line);
        this.take(last);
      }
    }
    if (last?.type === 'problem') return last.kind !== 'unreachable';
    throw new Refused('ended', '');
  }
}
