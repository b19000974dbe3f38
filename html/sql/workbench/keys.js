// The keyboard: one table that is both what the page listens to and what the overview shows.
import { isMac } from '../../common/dom.js';
import * as keyboard from '../../common/keys.js';

const { alt, bare, mod } = keyboard;

const MOD = isMac ? '⌘' : 'Ctrl';
const ALT = isMac ? '⌥' : 'Alt';

/** Keys of the page. `match` is absent where another part (editor, sidebar, grid) handles the key itself. @type {keyboard.Key[]} */
export const KEYS = [
  { group: 'Run', keys: [MOD, 'Enter'], what: 'Run the selection or the statement at the cursor', command: 'run', match: (e) => mod(e) && !e.shiftKey && e.key === 'Enter' },
  { group: 'Run', keys: [MOD, 'Shift', 'Enter'], what: 'Run the whole script', command: 'runAll', match: (e) => mod(e) && e.shiftKey && e.key === 'Enter' },
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
  { group: 'Tables', keys: ['↑', '↓'], what: 'Move in the list; Home and End to its ends' },
  { group: 'Tables', keys: ['Enter'], what: 'Open a database; show the schema of a table' },
  { group: 'Tables', keys: ['Shift', 'Enter'], what: 'Select the first 100 rows of a table' },
  { group: 'Tables', keys: [ALT, 'Enter'], what: 'Open the data of a table' },
  { group: 'Tables', keys: ['Shift', 'F10'], what: 'The menu of a table, routine or database' },
  { group: 'Tables', keys: ['→', '←'], what: 'Open and close a group: routines, triggers, events' },
  { group: 'Tables', keys: ['Backspace'], what: 'Back to the databases' },
  { group: 'Results', keys: ['↑', '↓', '←', '→'], what: 'Move in the grid; with Shift select; Home, End, Page Up, Page Down' },
  { group: 'Results', keys: [MOD, 'C'], what: 'Copy the selection as tab-separated text' },
  { group: 'Results', keys: [MOD, 'A'], what: 'Select all; Shift+Space the row, Ctrl+Space the column' },
  { group: 'Results', keys: ['F3'], what: `Find in the results, from anywhere (in the results also ${MOD} F)`, command: 'findResults', match: (e) => bare(e) && e.key === 'F3' },
  { group: 'Results', keys: [MOD, 'G'], what: 'List the columns: go to one, hide, freeze, move' },
  { group: 'Results', keys: ['F7'], what: 'Next difference of two results that are compared (Shift: previous)' },
  { group: 'Results', keys: ['Enter'], what: 'Open the cell viewer; Shift+F10 the menu of the cell' },
  { group: 'Results', keys: ['F8'], what: `The form of the row: all its columns; ${ALT} ↑ ↓ the row above, below` },
  { group: 'Results', keys: ['Delete'], what: 'Close the tab, if it can be closed' },
  { group: 'Data of a table', keys: [ALT, '↓'], what: 'Filter the column' },
  { group: 'Data of a table', keys: [ALT, '→', '←'], what: 'Follow a foreign key, and go back' },
  { group: 'Editing rows', keys: ['Enter'], what: `Edit the cell (also F2, a double click, or just type), ${MOD} Enter for all selected cells; Shift+Enter opens the viewer` },
  { group: 'Editing rows', keys: ['Esc'], what: 'Discard the edit; Enter, Tab and Shift+Tab accept it and move on' },
  { group: 'Editing rows', keys: [ALT, 'Enter'], what: 'Edit in a multi-line panel' },
  { group: 'Editing rows', keys: [MOD, '0'], what: 'Set NULL' },
  { group: 'Editing rows', keys: [MOD, 'Backspace'], what: 'Set the column’s default' },
  { group: 'Editing rows', keys: ['Insert'], what: `New row; ${MOD} D duplicates, ${MOD} Delete deletes rows` },
  { group: 'Editing rows', keys: [MOD, 'V'], what: 'Paste cells; with Shift as new rows' },
  { group: 'Editing rows', keys: [MOD, 'Z'], what: 'Undo the last change' },
  { group: 'Editing rows', keys: [MOD, 'S'], what: 'Review the changes as SQL, and apply them' },
  { group: 'Column header', keys: ['Enter'], what: 'Sort ascending, descending, unsorted; with Shift add this column' },
  { group: 'Column header', keys: [ALT, '←', '→'], what: 'Resize the column' },
  { group: 'Column header', keys: [ALT, 'Enter'], what: 'Fit the column to its content' },
  { group: 'Column header', keys: ['Shift', ALT, '←', '→'], what: 'Move the column' },
  { group: 'Column header', keys: ['Shift', 'F10'], what: 'The menu of the column' },
];

/** Listens for the page's keys. @param {Record<string, (event: KeyboardEvent) => void>} commands */
export const listenForKeys = (commands) => keyboard.listenForKeys(KEYS, commands);

/** Text of a command's keys, for menus and tooltips. @param {string} command */
export const keyText = (command) => keyboard.keyText(KEYS, command);

/** The overview of all keys. */
export const showKeys = () => keyboard.showKeys(KEYS);
