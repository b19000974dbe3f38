/**
 * Asks a real server about each choice of ALGORITHM and LOCK that is proposed for a change.
 * @module
 */

/** Errors of a server that cannot do it so: ER_ALTER_OPERATION_NOT_SUPPORTED and the same with a reason. */
const NOT_SO = [1845, 1846];

/** Changes for which a server takes any ALGORITHM and copies all the same. */
const SILENT = /engine|partitions|InnoDB$/;

/**
 * Faults of the proposals, a line each; those of which the server refused the first one, and how many there are.
 * @param {import('./changes.mjs').Change[]} changes @param {{run: (sql: string) => Promise<any[][]>, server: any, modules: any, isWhole: boolean}} with_ `isWhole`: also tries what blocks less than the proposal
 */
export async function proposals(changes, { run, server, modules, isWhole }) {
  const { alterTable, choicesFrom, lockingOf, parseTable } = modules;
  const faults = [];
  const later = [];
  const counts = { changes: 0, first: 0, later: 0 };
  for (const sql of ['DROP DATABASE IF EXISTS structure_locks', 'CREATE DATABASE structure_locks', 'USE structure_locks', 'CREATE TABLE parent (id int PRIMARY KEY)']) await run(sql);
  for (const { name, create, change, only, refused } of changes) {
    if (only && (only === 'mariadb') !== server.mariadb) continue;
    const start = async () => {
      for (const sql of ['DROP TABLE IF EXISTS t, renamed', create]) await run(sql);
      const before = parseTable((await run('SHOW CREATE TABLE t'))[0][1], server);
      return { before, after: change(before, modules) };
    };
    /** Number of the error, 0 for none. */
    const attempt = async ({ algorithm, lock }) => {
      const { before, after } = await start();
      try {
        for (const sql of alterTable(before, after, { ...server, algorithm, lock })) await run(sql);
        const now = parseTable((await run(`SHOW CREATE TABLE ${modules.quoted(after.name)}`))[0][1], server);
        const names = (table) => [table.columns, table.indexes, table.foreignKeys, table.checks].map((list) => list.map((one) => one.name)).map((list, i) => (i ? list.sort() : list).join()).join('; ');
        const [wanted, got] = [names(after), names(now)];
        return got === wanted || name.startsWith('foreign key') ? 0 : `wanted ${wanted}, got ${got}`;
      } catch (error) {
        if (NOT_SO.includes(error.errno)) return error.errno;
        return `${error.message}: ${alterTable(before, after, { ...server, algorithm, lock }).join('; ')}`;
      }
    };
    const { before, after } = await start();
    const choices = lockingOf(before, after, server);
    counts.changes += 1;
    let accepted = -1;
    const isRefused = refused === 'both' || (refused === 'mysql' && !server.mariadb);
    for (const [i, choice] of choices.entries()) {
      const answer = await attempt(choice);
      if (answer === 0) accepted = i;
      else if (typeof answer === 'string' && !isRefused) faults.push(`${name}: ${choice.algorithm}/${choice.lock}: ${answer}`);
      if (answer === 0 || typeof answer === 'string') break;
    }
    if (accepted < 0) continue;
    counts[accepted ? 'later' : 'first'] += 1;
    if (isRefused) faults.push(`${name}: not refused`);
    if (accepted > 0) later.push(`${name}: proposed ${choices[0].algorithm}/${choices[0].lock}, accepted ${choices[accepted].algorithm}/${choices[accepted].lock}`);
    if (!isWhole || SILENT.test(name) || !choices[0].algorithm) continue;
    for (const lighter of choicesFrom(0, server)) {
      if (lighter.algorithm === choices[0].algorithm && lighter.lock === choices[0].lock) break;
      if (await attempt(lighter) === 0) {
        faults.push(`${name}: proposed ${choices[0].algorithm}/${choices[0].lock}, and ${lighter.algorithm}/${lighter.lock} is enough`);
        break;
      }
    }
  }
  return { counts, faults, later };
}
