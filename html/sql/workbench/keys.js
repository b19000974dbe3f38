// The keyboard: keys that the page listens to, which the overview shows too.
import { isMac } from '../../common/dom.js';
import * as keyboard from '../../common/keys.js';

const { alt, bare, mod } = keyboard;

/** Names of the keys. */
export const MOD = isMac ? '⌘' : 'Ctrl';
export const ALT = isMac ? '⌥' : 'Alt';

/** Parts of the page whose Ctrl+Enter runs statements: cells, lists over them, forms and panels are not among them, since it ends their input. */
const RUNNING = '.editors, .bar, .topbar, .progress, .splitter';

/** Keys of the page; `keylist.js` has those of its parts. `match` is absent where another part (editor, sidebar, grid) handles the key itself. @type {keyboard.Key[]} */
export const KEYS = [
  { group: 'Run', keys: [MOD, 'Enter'], what: 'Run the selection or the statement at the cursor', command: 'run', within: RUNNING, match: (e) => mod(e) && !e.shiftKey && e.key === 'Enter' },
  { group: 'Run', keys: [MOD, 'Shift', 'Enter'], what: 'Run the whole script', command: 'runAll', within: RUNNING, match: (e) => mod(e) && e.shiftKey && e.key === 'Enter' },
  { group: 'Run', keys: [MOD, 'Shift', 'E'], what: 'Explain the statement at the cursor', command: 'explain', match: (e) => mod(e) && e.shiftKey && e.code === 'KeyE' },
  { group: 'Run', keys: [MOD, '.'], what: 'Cancel the statement', command: 'cancel', match: (e) => mod(e) && e.key === '.' },
  { group: 'Editor', keys: ['Tab'], what: 'Two spaces; with a selection of lines, indent (Shift: outdent)' },
  { group: 'Editor', keys: ['Esc', 'Tab'], what: 'Leave the editor by keyboard' },
  { group: 'Editor', keys: ['Ctrl', 'Space'], what: `Completions (also ${ALT} /)` },
  { group: 'Editor', keys: ['Tab'], what: 'Accept the marked completion. Enter accepts one chosen with the arrows, else starts a new line' },
  { group: 'Editor', keys: [MOD, '/'], what: 'Toggle line comments' },
  { group: 'Editor', keys: [MOD, 'F'], what: 'In the editor: find' },
  { group: 'Editor', keys: [MOD, 'H'], what: 'In the editor: find and replace', command: 'replace' },
  { group: 'Editor', keys: ['Shift', ALT, 'F'], what: 'Format the selection, or the whole script', command: 'format', match: (e) => alt(e) && e.shiftKey && e.code === 'KeyF' },
  { group: 'Editor', keys: [ALT, 'L'], what: 'Toggle line wrapping', command: 'wrap', match: (e) => alt(e) && !e.shiftKey && e.code === 'KeyL' },
  { group: 'Editor', keys: [MOD, 'O'], what: 'Open a script file', command: 'open', match: (e) => mod(e) && !e.shiftKey && e.code === 'KeyO' },
  { group: 'Editor', keys: [MOD, 'S'], what: 'Save the script as a file', command: 'save', match: (e) => mod(e) && !e.shiftKey && e.code === 'KeyS' },
  { group: 'Tabs', keys: [ALT, 'N'], what: 'New query tab', command: 'newTab', match: (e) => alt(e) && e.code === 'KeyN' },
  { group: 'Tabs', keys: [ALT, 'W'], what: 'Close the tab', command: 'closeTab', match: (e) => alt(e) && e.code === 'KeyW' },
  { group: 'Tabs', keys: [ALT, 'Z'], what: 'Reopen the last closed tab', command: 'reopenTab', match: (e) => alt(e) && e.code === 'KeyZ' },
  { group: 'Tabs', keys: [ALT, 'PgUp', 'PgDn'], what: 'Previous, next tab', command: 'moveTab', match: (e) => alt(e) && (e.key === 'PageUp' || e.key === 'PageDown') },
  { group: 'Tabs', keys: ['F2'], what: 'Rename the tab', command: 'rename', match: (e) => bare(e) && e.key === 'F2' },
  { group: 'Around', keys: [MOD, 'K'], what: 'Search tables, columns, routines and comments of all databases', command: 'search', match: (e) => mod(e) && !e.shiftKey && e.code === 'KeyK' },
  { group: 'Around', keys: ['F6'], what: 'Next area: tables, editor, results (Shift: back)', command: 'area', match: (e) => !mod(e) && !e.altKey && e.key === 'F6' },
  { group: 'Around', keys: [ALT, 'M'], what: 'Maximize results or rows, or restore (also double-click the divider)', command: 'maximise', match: (e) => alt(e) && !e.shiftKey && e.code === 'KeyM' },
  { group: 'Around', keys: ['F4'], what: 'History', command: 'history', match: (e) => bare(e) && e.key === 'F4' },
  { group: 'Around', keys: [ALT, 'S'], what: 'Saved queries', command: 'saved', match: (e) => alt(e) && !e.shiftKey && e.code === 'KeyS' },
  { group: 'Around', keys: ['/'], what: 'Filter databases or tables', command: 'filter', outside: true, match: (e) => bare(e) && e.key === '/' },
  { group: 'Around', keys: ['?'], what: 'This overview', command: 'keys', outside: true, match: (e) => !mod(e) && !e.altKey && e.key === '?' },
  { group: 'Results', keys: ['F3'], what: `Find in the results, from anywhere (in the results also ${MOD} F)`, command: 'findResults', match: (e) => bare(e) && e.key === 'F3' },
];

/** Listens for the page's keys. @param {Record<string, (event: KeyboardEvent) => void>} commands */
export const listenForKeys = (commands) => keyboard.listenForKeys(KEYS, commands);

/** Text of a command's keys, for menus and tooltips. @param {string} command */
export const keyText = (command) => keyboard.keyText(KEYS, command);
