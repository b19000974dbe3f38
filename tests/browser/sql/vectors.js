// Runs the shared vectors through the modules that the page itself has loaded; answers what disagrees.
async (gate, splits) => {
  const base = document.querySelector('script[type=module]').src.replace(/sql\/app\.js$/, '');
  const { checkReadOnly, serverFromVersion } = await import(`${base}sql/core/gate.js`);
  const { splitScript } = await import(`${base}sql/core/lexer.js`);
  const wrong = [];
  for (const { sql, ok, statement, server } of gate) {
    const found = checkReadOnly(sql, serverFromVersion(server ?? '10.11.0-MariaDB'));
    const named = found === null || statement === undefined || found.statement === statement;
    if ((found === null) !== ok || !named) wrong.push(`${JSON.stringify(sql)}: ${JSON.stringify(found)}, expected ${ok} ${statement ?? ''}`);
  }
  for (const { sql, statements } of splits) {
    const found = splitScript(sql).map((part) => part.sql);
    if (JSON.stringify(found) !== JSON.stringify(statements)) wrong.push(`${JSON.stringify(sql)}: ${JSON.stringify(found)}`);
  }
  return wrong;
}
