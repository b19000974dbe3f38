// Requests to postern's HTTP APIs: JSON envelopes in, `data` or an ApiError out.

/** @typedef {{code?: number, message?: string, status?: string, data?: any, error?: DbError, fields?: Record<string, string>}} Envelope */

/** A failed request. `status` is 0 when no answer came, or none in time; `body` is the envelope, where there was one. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message @param {Envelope|null} [body] */
  constructor(status, message, body = null) {
    super(message);
    this.status = status;
    this.body = body;
  }

  /** The database's error: its error number and state. @returns {{errno: number, sqlstate: string}|null} */
  get error() {
    return this.body?.error ?? null;
  }

  /** Problem of each field of the request. @returns {Record<string, string>} */
  get fields() {
    return this.body?.fields ?? {};
  }

  /** True if no answer came: the program has ended, the network is down, or it is much too slow. */
  get unreachable() {
    return this.status === 0;
  }
}

/** Pauses before a server that does not answer is asked again, in ms; the last one repeats. */
const RETRY_MS = [1_000, 1_000, 2_000, 3_000, 5_000];

/** The pause before the next try, in ms. @param {number} missed tries without an answer before the last one */
export function retryPause(missed) {
  return RETRY_MS[Math.min(missed, RETRY_MS.length - 1)];
}

/**
 * `onResponse` learns the status of every answer, `onUnreachable` that none came.
 * @param {{onResponse?: (status: number) => void, onUnreachable?: () => void}} [options]
 * @returns {(path: string, init?: RequestInit) => Promise<Response>}
 */
export function createFetch({ onResponse = () => {}, onUnreachable = () => {} } = {}) {
  return async (path, init = {}) => {
    let response;
    try {
      // Ask for JSON, so that a gateway in front of the API answers with text, too, not with a page.
      response = await fetch(path, { cache: 'no-store', credentials: 'same-origin', ...init, headers: { Accept: 'application/json', ...init.headers } });
    } catch (cause) {
      throw failure(cause, init.signal, onUnreachable);
    }
    onResponse(response.status);
    return response;
  };
}

function failure(cause, signal, onUnreachable) {
  if (signal?.reason?.name === 'AbortError') return cause;
  if (cause?.name === 'TimeoutError') return new ApiError(0, 'the server took too long to answer; try again');
  onUnreachable();
  return new ApiError(0, 'server not reachable; is postern still running?');
}

/** Options for `fetch` to send JSON. @param {string} method @param {any} body @returns {RequestInit} */
export function jsonRequest(method, body) {
  return { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
}

/** The envelope of an answer, or the ApiError that it stands for. @param {Response} response @returns {Promise<Envelope>} */
export async function readEnvelope(response) {
  /** @type {Envelope|null} */
  let body = null;
  try {
    body = await response.json();
  } catch {
    // Not JSON: an error page of a proxy in between. Only the status is known then.
  }
  const code = body?.code ?? response.status;
  if (response.ok && code >= 200 && code < 300) return body ?? {};
  throw new ApiError(code, body?.message ?? `the server answered ${response.status}`, body);
}

/** The `data` of an answer, or the ApiError that its envelope stands for. @param {Response} response */
export async function readData(response) {
  return (await readEnvelope(response)).data ?? null;
}
