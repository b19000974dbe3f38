// The management API as functions. Every failure is an ApiError that says what happened.
import { createFetch, jsonRequest, readData, readEnvelope } from '../common/transport.js';

/** Timeout of a read, in ms: the server answers from memory. */
const READ_MS = 5_000;
/** Timeout of a write, in ms: it goes to disk, and deleting waits for the connection to end. */
const WRITE_MS = 15_000;

/** @typedef {ReturnType<typeof createApi>} Api */

/**
 * Creates the API. `onState` is told whenever a request shows that the server can or cannot be reached.
 * @param {{onState?: (reachable: boolean) => void}} [options]
 */
export function createApi({ onState = () => {} } = {}) {
  const send = createFetch({ onResponse: () => onState(true), onUnreachable: () => onState(false) });
  const get = async (path) => {
    try {
      return await readData(await send(path, { signal: AbortSignal.timeout(READ_MS) }));
    } catch (error) {
      // A timeout counts as unreachable here: no request of this page is slow.
      if (error.unreachable) onState(false);
      throw error;
    }
  };
  const change = async (method, path, body) => {
    const init = body === undefined ? { method } : jsonRequest(method, body);
    return readEnvelope(await send(path, { ...init, signal: AbortSignal.timeout(WRITE_MS) }));
  };
  const of = (name, id) => `/api/${name}/${encodeURIComponent(id)}`;

  return {
    /** All applications, each with `conn_status` and its `connection`. */
    apps: () => get('/api/apps'),
    /** One application. @param {string} id */
    app: (id) => get(of('apps', id)),
    /** Saves a new application here; nothing remote is called. */
    add: async (body) => (await change('POST', '/api/apps', body)).data,
    /** Replaces an application; secrets that are left out stay. */
    replace: async (id, body) => (await change('PUT', of('apps', id), body)).data,
    /** Disconnects and removes an application. */
    remove: (id) => change('DELETE', of('apps', id)),
    /** Begins a connection; answers its status at once. */
    connect: async (id) => { const body = await change('POST', of('connect', id)); return body.status ?? body.data?.status; },
    /** Ends a connection in any state. */
    disconnect: (id) => change('POST', of('disconnect', id)),
    /** The ConnectResult of an application. */
    status: (id) => get(of('status', id)),
    /** Retries now instead of after the pause. */
    retry: (id) => change('POST', of('retry', id)),
    /** Gives an invisible application another code; answers the application. @param {string} id */
    newCode: async (id) => (await change('POST', `${of('apps', id)}/code`)).data,
    /** Ends the sign-ins and the open streams of an application's visitors; answers the application, with 202 where its server has not heard of it. @param {string} id */
    signOut: (id) => change('POST', `${of('apps', id)}/signout`),
    /** Requests or statements of visitors after the entry `after`. @param {'requests'|'statements'} what @param {string} id @param {number} after */
    log: (what, id, after) => get(`${of('apps', id)}/${what}?after=${after}`),
    /** Accepts a changed host key. @param {{server: string, offered: string}} key */
    trust: ({ server, offered }) => change('POST', '/api/trust', { server, fingerprint: offered }),
    /** Deletes the credentials for a server and ends the connections through it. @param {string} server its origin */
    reset: async (server) => (await change('POST', '/api/reset', { server, disconnect: true })).data,
    /** Makes the plugin for a protocol available. @param {string} name its own name, or the protocol */
    addPlugin: (name) => change('POST', '/api/plugins', { name }),
    /** The main tunnels. */
    tunnels: () => get('/api/tunnel'),
    /** The servers that are known. @returns {Promise<Server[]>} */
    servers: () => get('/api/servers'),
    /** Adds a server, or changes what is known of it; what is left out is kept. @param {{url: string, label?: string, enroll_token?: string, default?: boolean}} server */
    putServer: async (server) => (await change('POST', '/api/servers', server)).data,
    /** Forgets a server. @param {string} url */
    removeServer: (url) => change('DELETE', `/api/servers?url=${encodeURIComponent(url)}`),
    /** Programs that listen on this computer. @returns {Promise<Listener[]>} */
    listeners: () => get('/api/listeners'),
    /** Names in a database, for the picker of a guest's account. @param {object} of @returns {Promise<string[]>} */
    guestObjects: async (of) => (await change('POST', '/api/guest/objects', of)).data,
    /** The QR code of a text, as an SVG path. @param {string} text @returns {Promise<{size: number, path: string}>} */
    qr: async (text) => (await change('POST', '/api/qr', { text })).data,
    /** Version, server in use, notices. */
    version: () => get('/api/version'),
  };
}
