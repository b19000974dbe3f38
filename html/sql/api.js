// The plugin's HTTP API as functions. Every failure is an ApiError that says what happened.
import { ApiError, createFetch, jsonRequest, readData, readEnvelope } from '../common/transport.js';

/** Time limit for a catalogue request, in ms. The server answers these from the dictionary; 30 s is a server in trouble. */
const CATALOGUE_MS = 30_000;
/** Time limit for the health request, in ms; the server counts as not reachable after it. */
const HEALTH_MS = 5_000;
/** Time limit for a cancel, in ms: it opens a database connection of its own. */
const CANCEL_MS = 10_000;

/** Statuses that tell who can be reached; any other is postern's own answer. @type {Record<number, Reachability>} */
const BY_STATUS = { 401: 'unauthorized', 403: 'doubtful', 404: 'doubtful', 410: 'doubtful', 502: 'database', 503: 'doubtful' };

/**
 * @typedef {{sql: string, db?: string, limit?: number|null, session?: string, queryId?: string, timeZone?: string, signal?: AbortSignal}} Query
 * @typedef {{tables: number, sequences: number, views: number, routines: number, triggers: number, events: number, notes: string[]}} DumpReview
 * @typedef {'online'|'offline'|'database'|'doubtful'|'unauthorized'} Reachability  `database`: postern answers, the database does not;
 *   `doubtful`: what stands in front of postern may have answered in its place
 */

/**
 * Creates the API. `onState` is told whenever a request shows that the server can or cannot be reached.
 * @param {{onState?: (state: Reachability) => void}} [options]
 */
export function createApi({ onState = () => {} } = {}) {
  const request = createFetch({
    onResponse: (status) => onState(BY_STATUS[status] ?? 'online'),
    onUnreachable: () => onState('offline'),
  });

  async function send(path, init) {
    const response = await request(path, init);
    if (response.status === 401) throw new ApiError(401, 'the session has ended; sign in again with the code');
    return response;
  }

  const ticketOf = async (path, options) => {
    const { ticket } = await readData(await post(path, { ...options, ticket: true }, { signal: AbortSignal.timeout(CATALOGUE_MS) }));
    return `/api/export/${encodeURIComponent(ticket)}`;
  };
  const exportTicket = (options) => ticketOf('/api/export', options);
  const dumpTicket = (options) => ticketOf('/api/dump', options);
  /** The bytes of a download, for a page that writes them somewhere itself. @param {string} address @param {AbortSignal} signal */
  const reader = async (address, signal) => {
    const response = await send(address, { signal });
    if (!response.ok) await readEnvelope(response);
    return /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  };
  const post = (path, body, init = {}) => send(path, { ...jsonRequest('POST', body), ...init });
  const get = async (path, parameters = {}, ms = CATALOGUE_MS) => {
    const query = new URLSearchParams(parameters).toString();
    return readData(await send(query ? `${path}?${query}` : path, { signal: AbortSignal.timeout(ms) }));
  };

  const beacon = (body) => navigator.sendBeacon('/api/session/close', new Blob([JSON.stringify(body)], { type: 'application/json' }));

  return {
    /** Version, host, port, user, database, mode. */
    info: () => get('/api/info'),
    /** As `info`, with the time it took in ms; a silent server counts as not reachable. */
    health: () => health(get),
    /** Names of the databases. */
    databases: () => get('/api/databases'),
    /** Tables of a database; with `detail` objects with kind, size and estimated rows. */
    tables: (db, detail = false) => get('/api/tables', detail ? { db, detail: '1' } : { db }),
    /** Columns, indexes, foreign keys and CREATE statement of a table. */
    schema: (db, table) => get('/api/schema', { db, table }),
    /** Names and comments that match, best first; the first search waits for the server's catalogue. @param {Record<string, string>} parameters @param {AbortSignal} signal */
    search: async (parameters, signal) => readData(await send(`/api/search?${new URLSearchParams(parameters)}`, { signal })),
    /** Runs one statement; the Response is streamed. @param {Query} query @returns {Promise<Response>} */
    query: ({ sql, db, limit, session, queryId, timeZone, signal }) => post('/api/query', {
      sql, ...(db && { db }), ...(limit && { limit }), ...(session && { session }), ...(queryId && { query_id: queryId }), ...(timeZone && { time_zone: timeZone }),
    }, { signal }),
    /**
     * Runs statements one after another, as they come; the Response has a JSON line for each, and one at the end.
     * @param {{body: Blob|Uint8Array<ArrayBuffer>|string, lines?: boolean, db?: string, session: string, queryId: string, delimiter?: string, part?: boolean, goesOn?: boolean, signal?: AbortSignal}} script
     *   `lines`: the body has a JSON string a line, else it is SQL; `part`: what its last statement goes on with follows
     * @returns {Promise<Response>}
     */
    script: ({ body, lines = false, db, session, queryId, delimiter, part = false, goesOn = false, signal }) => {
      const query = new URLSearchParams({ query_id: queryId, ...(db && { db }), ...(delimiter && { delimiter }), ...(part && { part: '1' }), ...(goesOn && { on_error: 'continue' }) });
      const headers = { 'Content-Type': lines ? 'application/x-ndjson' : 'application/sql', 'Postern-Session': session };
      return send(`/api/script?${query}`, { method: 'POST', headers, body, signal });
    },
    /**
     * Changes rows of a table in one transaction, or tells with `review` the statements that would.
     * @param {{db: string, table: string, changes: object[], time_zone?: string, query_id?: string, review?: boolean}} edit
     */
    edit: async (edit) => readData(await post('/api/edit', edit)),
    /** Kills a running statement on the server; false when it was not running any more. */
    cancel: async (queryId) => {
      const response = await post('/api/cancel', { query_id: queryId }, { signal: AbortSignal.timeout(CANCEL_MS) });
      if (response.status === 404) return false;
      await readData(response);
      return true;
    },
    /** The address of a download good for one minute: the browser fetches it, the page holds nothing. */
    exportTicket,
    /** The bytes of an export. */
    exportReader: async (options, signal) => reader(await exportTicket(options), signal),
    /** Content of a dump, and what it leaves out. @returns {Promise<DumpReview>} */
    dumpReview: async (options, signal) => readData(await post('/api/dump', { ...options, review: true }, { signal })),
    /** The address of a dump, as of an export. */
    dumpTicket,
    dumpReader: async (options, signal) => reader(await dumpTicket(options), signal),
    /** Ends a session when its tab or the page closes; never waits. */
    closeSession: (session) => beacon({ session }),
    /** The page goes, and may come back within some seconds, as when it is loaded again: the session lasts so long. */
    leaveSession: (session) => beacon({ session, leaving: true }),
    /** State of a session after the page was loaded again; it is kept. @returns {Promise<{open: boolean, lost: boolean}>} */
    resumeSession: async (session) => readData(await post('/api/session/resume', { session }, { signal: AbortSignal.timeout(CATALOGUE_MS) })),
  };

  async function health(request) {
    const from = performance.now();
    try {
      const info = await request('/api/info', {}, HEALTH_MS);
      return { info, ms: performance.now() - from };
    } catch (error) {
      if (error.unreachable) onState('offline');
      throw error;
    }
  }
}
