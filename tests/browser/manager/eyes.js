// Reads the page as a person sees it, and records the times of its actions, for the tests. Set in every document before
// its scripts.
globalThis.eyes = (() => {
  const violations = [];
  addEventListener('securitypolicyviolation', (event) => violations.push(`${event.violatedDirective}: ${event.blockedURI}`));

  /** Requests to the API, and tabs opened, with the time in ms at which the page began them. */
  const calls = [];
  /** While set, a function that may change the JSON of an answer, or give one in its place: a server that is not ours. */
  const tamper = { with: null, instead: null };
  const realFetch = globalThis.fetch;
  globalThis.fetch = async (path, init = {}) => {
    calls.push({ what: `${init.method ?? 'GET'} ${path}`, at: performance.now() });
    const given = tamper.instead?.(String(path));
    if (given) return new Response(JSON.stringify(given), { headers: { 'Content-Type': 'application/json' } });
    const response = await realFetch(path, init);
    if (!tamper.with) return response;
    const body = tamper.with(String(path), await response.json());
    return new Response(JSON.stringify(body), { status: response.status, headers: { 'Content-Type': 'application/json' } });
  };
  /** While set, the browser blocks new tabs. */
  const popups = { blocked: false };
  const realOpen = globalThis.open;
  globalThis.open = (...args) => {
    calls.push({ what: `open ${args[0]}`, at: performance.now() });
    return popups.blocked ? null : realOpen.apply(globalThis, args);
  };

  const shown = (element) => element.checkVisibility({ visibilityProperty: true });
  const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
  const first = (selector) => all(selector)[0] ?? null;

  return {
    violations, calls, tamper, popups, all, first,
    /** Times at which the page did that. */
    times: (what) => calls.filter((call) => call.what.startsWith(what)).map(({ at }) => at),
    status: (id) => document.querySelector(`[data-id="${id}"]`)?.dataset.status,
    box: (selector) => { const { x, y, width, height } = first(selector).getBoundingClientRect(); return [x, y, width, height].map(Math.round); },
  };
})();
