// The overview of all keys, with those that parts of the page handle themselves. Loaded when it is asked for.
import * as keyboard from '../../common/keys.js';
import { ALT, KEYS, MOD } from './keys.js';

/** @type {keyboard.Key[]} */
const OF_TABLES = [
  { group: 'Tables', keys: ['↑', '↓'], what: 'Move in the list; Home and End to its ends' },
  { group: 'Tables', keys: ['Enter'], what: 'Open a database; show the schema of a table' },
  { group: 'Tables', keys: ['Shift', 'Enter'], what: 'Select the first 100 rows of a table' },
  { group: 'Tables', keys: [ALT, 'Enter'], what: 'Open the data of a table' },
  { group: 'Tables', keys: ['Shift', 'F10'], what: 'The menu of a table, routine or database' },
  { group: 'Tables', keys: ['→', '←'], what: 'Open and close a group: routines, triggers, events' },
  { group: 'Tables', keys: ['Backspace'], what: 'Back to the databases' },
];

/** @type {keyboard.Key[]} */
const OF_RESULTS = [
  { group: 'Results', keys: ['↑', '↓', '←', '→'], what: 'Move in the grid; with Shift select; Home, End, Page Up, Page Down' },
  { group: 'Results', keys: [MOD, 'C'], what: 'Copy the selection as tab-separated text' },
  { group: 'Results', keys: [MOD, 'A'], what: 'Select all; Shift+Space the row, Ctrl+Space the column' },
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
  { group: 'Structure of a table', keys: ['↑', '↓', '←', '→'], what: 'Move between the cells; typing replaces the text of a cell' },
  { group: 'Structure of a table', keys: ['F2'], what: 'Edit the text of the cell (also a double click); Esc takes back what was typed' },
  { group: 'Structure of a table', keys: ['Enter'], what: 'Next line (Shift: back); in the last line a new one' },
  { group: 'Structure of a table', keys: ['Insert'], what: `New column; ${MOD} D duplicates, ${MOD} Delete removes lines` },
  { group: 'Structure of a table', keys: [ALT, '↑', '↓'], what: 'Move the column' },
  { group: 'Structure of a table', keys: ['Ctrl', 'Space'], what: `Suggestions for the cell (also ${ALT} ↓)` },
  { group: 'Structure of a table', keys: [MOD, 'F'], what: `Filter the columns (also ${MOD} G)` },
  { group: 'Structure of a table', keys: [MOD, 'Z'], what: `Undo; ${MOD} Shift Z redoes` },
  { group: 'Structure of a table', keys: [MOD, 'S'], what: 'Review the SQL, and run it' },
  { group: 'Column header', keys: ['Enter'], what: 'Sort ascending, descending, unsorted; with Shift add this column' },
  { group: 'Column header', keys: [ALT, '←', '→'], what: 'Resize the column' },
  { group: 'Column header', keys: [ALT, 'Enter'], what: 'Fit the column to its content' },
  { group: 'Column header', keys: ['Shift', ALT, '←', '→'], what: 'Move the column' },
  { group: 'Column header', keys: ['Shift', 'F10'], what: 'The menu of the column' },
];

/** The overview of all keys. */
export function showKeys() {
  const isOfResults = ({ group }) => group === 'Results';
  return keyboard.showKeys([...KEYS.filter((key) => !isOfResults(key)), ...OF_TABLES, ...KEYS.filter(isOfResults), ...OF_RESULTS]);
}
