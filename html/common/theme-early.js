// Classic script in <head>: sets the remembered theme before the first paint, so that no page flashes.
(function () {
  'use strict';
  try {
    const theme = localStorage.getItem('postern.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; the system's theme is used then.
  }
})();
