export function openPages(host) { return { show() { host.textContent = 'x'; }, close() {} }; }
