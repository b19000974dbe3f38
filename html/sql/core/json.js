/**
 * JSON laid out for reading, token by token: nothing is parsed into values, so no digit and no repeated key is lost.
 * @module
 */

/** Greatest nesting that is laid out. */
const MAX_DEPTH = 100;

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * @param {string} text
 * @returns {{type: 'punct'|'key'|'string'|'number'|'keyword'|'space', text: string}[]|null} null when it is not JSON or too deep
 */
export function layOutJson(text) {
  if (!isJson(text)) return null;
  const tokens = text.match(TOKEN) ?? [];
  const out = [];
  let depth = 0;
  let deepest = 0;
  const breakLine = () => out.push({ type: 'space', text: `\n${'  '.repeat(Math.min(depth, MAX_DEPTH))}` });
  tokens.forEach((token, i) => {
    const closes = token === '}' || token === ']';
    const opens = token === '{' || token === '[';
    const wasOpened = tokens[i - 1] === '{' || tokens[i - 1] === '[';
    if (closes) depth -= 1;
    if (closes ? !wasOpened : wasOpened) breakLine();
    out.push({ type: typeOf(token, tokens[i + 1]), text: token });
    if (opens) depth += 1;
    deepest = Math.max(deepest, depth);
    if (token === ',') breakLine();
    if (token === ':') out.push({ type: 'space', text: ' ' });
  });
  return deepest <= MAX_DEPTH ? out : null;
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function typeOf(token, next) {
  if (token.length === 1 && '{}[],:'.includes(token)) return 'punct';
  if (token.startsWith('"')) return next === ':' ? 'key' : 'string';
  return /^[-\d]/.test(token) ? 'number' : 'keyword';
}
