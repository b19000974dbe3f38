// Modules that only some visits need. They load on first use, or in the background once the page is drawn.
import { notify } from '../../common/announce.js';

const PARTS = {
  form: () => import('../form/form.js'),
  fields: () => import('../core/fields.js'),
  servers: () => import('../form/servers.js'),
  qr: () => import('./qrview.js'),
  extend: () => import('./extend.js'),
  log: () => import('./visitlog.js'),
};

/** Parts that are being loaded: pressing a key again does not open a thing twice. */
const loading = new Set();

/**
 * Loads a part and runs `use` with it; undefined where it cannot be loaded, which is told.
 * @template {keyof typeof PARTS} P @template R
 * @param {P} name @param {(part: Awaited<ReturnType<typeof PARTS[P]>>) => R} use
 * @returns {Promise<Awaited<R>|undefined>}
 */
export async function withPart(name, use) {
  if (loading.has(name)) return undefined;
  loading.add(name);
  let part;
  try {
    part = /** @type {any} */ (await PARTS[name]());
  } catch {
    notify('This part of the page could not be loaded. Is postern still running? After an update, reload the page.', 'bad');
    return undefined;
  } finally {
    loading.delete(name);
  }
  return await use(part);
}

/** Loads all parts, so that they are there when postern is not. */
export function preloadParts() {
  for (const load of Object.values(PARTS)) load().catch(() => {});
}
