/**
 * The server's plans, in each of the shapes that MariaDB and MySQL give them, as one kind of tree.
 * @module
 */

/**
 * @typedef {object} PlanNode
 * @property {string} label what is done
 * @property {string} table
 * @property {string} access the access type, such as `ref` or `ALL`
 * @property {string} key the index used
 * @property {number|null} rows estimated
 * @property {number|null} actualRows measured, where the plan was run
 * @property {number|null} ms measured time of one run until the last row, in milliseconds (MySQL)
 * @property {number|null} loops how often it was run
 * @property {number|null} cost
 * @property {number|null} filtered percent
 * @property {string[]} notes conditions and remarks
 * @property {string[]} warnings
 * @property {boolean} known whether it is a kind of step that is understood here
 * @property {PlanNode[]} children
 */

/** Rows from which reading a whole table is worth a warning. */
const SCAN_ROWS = 100;

/** Greatest nesting of a plan. */
const MAX_DEPTH = 64;

const TABULAR = ['id', 'select_type', 'table', 'type', 'key'];

/**
 * The plan that a result holds; null when it holds none.
 * @param {{columns: string[], rows: Array<Array<any>>}} result
 * @returns {PlanNode[]|null}
 */
export function planOf({ columns, rows }) {
  const names = columns.map((name) => name.toLowerCase());
  if (TABULAR.every((name) => names.includes(name))) return fromTable(names, rows);
  if (rows.length === 0 || columns.length !== 1 || !/^(explain|analyze)/i.test(columns[0])) return null;
  const text = rows.map((row) => row[0]).join('\n');
  return text.trimStart().startsWith('{') ? fromJson(text) : fromOutline(text);
}

/** MySQL's message instead of a plan, for an UPDATE or DELETE of one table in any but the tabular format. */
const NOT_MADE = /^\s*<not executable by iterator executor>\s*$/i;

/**
 * True if the server says that it made no plan in the form asked for.
 * @param {{columns: string[], rows: Array<Array<any>>}} result
 */
export function isPlanRefused(result) {
  return NOT_MADE.test(planOf(result)?.[0]?.label ?? result.rows[0]?.[0]);
}

/** Rewrites an EXPLAIN to the tabular form, which the server has for every statement. @param {string} sql @returns {string} */
export function inTabularForm(sql) {
  return sql.replace(/^(\s*EXPLAIN\s+)(?:FORMAT\s*=\s*\w+\s+)?(?!ANALYZE\b)/i, '$1FORMAT=TRADITIONAL ');
}

/** Time of a step in all its loops, with the steps below it, in ms. @param {PlanNode} node */
export const timeOf = ({ ms, loops }) => (ms ?? 0) * (loops ?? 1);

/** The greatest time in the tree. @param {PlanNode[]} nodes @returns {number} */
export function greatestTime(nodes) {
  return nodes.reduce((most, item) => Math.max(most, timeOf(item), greatestTime(item.children)), 0);
}

/** The labels of steps that are not understood here: nothing can be said of a plan that has one. @param {PlanNode[]} nodes @returns {string[]} */
export function unknownSteps(nodes) {
  return nodes.flatMap((item) => [...(item.known ? [] : [item.label]), ...unknownSteps(item.children)]);
}

function fromJson(text) {
  let plan;
  try {
    plan = JSON.parse(text);
  } catch {
    return null;
  }
  if (plan.query_plan?.operation) return [fromOperation(plan.query_plan, 0)];
  if (plan.operation) return [fromOperation(plan, 0)];
  const nodes = children(plan, 0);
  return nodes.length ? nodes : null;
}

/** @param {string} label @param {Partial<PlanNode>} [fields] @returns {PlanNode} */
function node(label, fields = {}) {
  const empty = { table: '', access: '', key: '', rows: null, actualRows: null, ms: null, loops: null, cost: null, filtered: null, known: true };
  const made = { label, ...empty, notes: [], warnings: [], children: [], ...fields };
  warnOfScan(made);
  return made;
}

function warnOfScan(made) {
  const rows = made.rows === null ? '' : `: ${made.rows.toLocaleString('en')} rows`;
  if (/^all$/i.test(made.access) && !/^</.test(made.table)) {
    if (made.rows === null || made.rows >= SCAN_ROWS) made.warnings.push(`reads the whole table${rows}`);
  } else if (/^index$/i.test(made.access)) {
    if (made.rows === null || made.rows >= SCAN_ROWS) made.warnings.push(`reads the whole index${rows}`);
  }
}

const number = (value) => {
  const parsed = typeof value === 'string' ? parseFloat(value) : value;
  return typeof parsed === 'number' && Number.isFinite(parsed) ? parsed : null;
};

// FORMAT=JSON of MariaDB and of MySQL up to version 1: objects in objects, told apart by their names.

const LABELS = {
  query_block: 'Select',
  nested_loop: 'Nested loop join',
  filesort: 'Sort',
  ordering_operation: 'Order',
  grouping_operation: 'Group',
  temporary_table: 'Temporary table',
  duplicates_removal: 'Remove duplicates',
  'block-nl-join': 'Block nested loop join',
  'range-checked-for-each-record': 'Index chosen for each row',
  rowid_filter: 'Row id filter',
  union_result: 'Union',
  expression_cache: 'Subquery cache',
  buffer_result: 'Buffer the result',
  windowing: 'Window functions',
  window_functions_computation: 'Window functions',
  materialized: 'Materialise',
  materialized_from_subquery: 'Materialise a subquery',
  having_subqueries: 'Subqueries of HAVING',
  attached_subqueries: 'Subqueries',
  optimized_away_subqueries: 'Subqueries computed beforehand',
  select_list_subqueries: 'Subqueries of the select list',
  subqueries: 'Subqueries',
};

/** Wrappers without information of their own. */
const TRANSPARENT = new Set(['read_sorted_file', 'query_specifications', 'query_plan', 'sorts', 'sort_functions']);

/** Members that describe their parent and are no steps. */
const FACTS = new Set([
  'possible_keys', 'used_key_parts', 'used_columns', 'ref', 'cost_info', 'partitions', 'key_parts', 'query_optimization', 'r_engine_stats',
]);

function children(object, depth) {
  if (depth > MAX_DEPTH) return [];
  return Object.entries(object).flatMap(([key, value]) => {
    if (value === null || typeof value !== 'object' || FACTS.has(key)) return [];
    if (Array.isArray(value)) return fromList(key, value, depth);
    return fromObject(key, value, depth);
  });
}

function fromList(key, list, depth) {
  const steps = list.filter((item) => item !== null && typeof item === 'object');
  const inner = steps.flatMap((item) => children(item, depth + 1));
  if (TRANSPARENT.has(key) || inner.length === 0) return inner;
  if (key === 'nested_loop' && inner.length === 1) return inner;
  return [node(labelOf(key), { children: inner, known: isLabelled(key) })];
}

function fromObject(key, value, depth) {
  const inner = children(value, depth + 1);
  if (TRANSPARENT.has(key)) return inner;
  if (key === 'table') return value.table_name ? [tableNode(value, inner)] : inner; // without a name: a note, shown by its parent
  return [stepNode(key, value, inner)];
}

const isLabelled = (key) => Object.hasOwn(LABELS, key);
const labelOf = (key) => isLabelled(key) ? LABELS[key] : capital(key.replaceAll(/[_-]/g, ' '));
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function tableNode(table, inner) {
  return node(accessLabel(table.access_type, table.table_name), {
    table: table.table_name,
    access: table.access_type ?? '',
    key: table.key ?? '',
    rows: number(table.rows ?? table.rows_examined_per_scan),
    actualRows: number(table.r_rows),
    ms: number(table.r_total_time_ms),
    cost: number(table.cost ?? table.cost_info?.prefix_cost),
    filtered: number(table.filtered),
    notes: tableNotes(table),
    known: isKnownAccess(table.access_type),
    children: inner,
  });
}

const ACCESS = {
  all: 'Full table scan',
  index: 'Full index scan',
  range: 'Index range',
  ref: 'Index lookup',
  ref_or_null: 'Index lookup, with NULL',
  eq_ref: 'Unique index lookup',
  const: 'One row by unique index',
  system: 'One row',
  index_merge: 'Several indexes merged',
  fulltext: 'Full-text index',
  unique_subquery: 'Unique index lookup in a subquery',
  index_subquery: 'Index lookup in a subquery',
};

/** `<derived2>` and the like are temporary: reading all of one is no table scan. */
function accessLabel(access, table) {
  if (/^all$/i.test(access) && /^</.test(table)) return 'Read all of';
  return ACCESS[String(access ?? '').toLowerCase()] ?? 'Table';
}

/** Without an access type no table is read, as in an impossible WHERE. */
function isKnownAccess(access) {
  return !access || Object.hasOwn(ACCESS, String(access).toLowerCase());
}

function tableNotes(table) {
  const notes = [];
  const say = (label, value) => value && notes.push(`${label} ${Array.isArray(value) ? value.join(', ') : value}`);
  say('condition:', table.attached_condition);
  say('index condition:', table.index_condition);
  say('compared with', table.ref);
  say('possible indexes:', table.key ? null : table.possible_keys);
  say('note:', table.message);
  if (table.using_index) notes.push('covered by the index');
  return notes;
}

function stepNode(key, step, inner) {
  const made = node(key === 'query_block' ? blockLabel(step) : labelOf(key), {
    cost: number(step.cost ?? step.cost_info?.query_cost ?? step.cost_info?.sort_cost),
    rows: number(step.rows),
    actualRows: number(step.r_output_rows ?? step.r_rows),
    known: isLabelled(key),
    children: inner,
  });
  const say = (label, value) => value && made.notes.push(`${label} ${value}`);
  say('by', step.sort_key);
  say('condition:', step.attached_condition ?? step.having_condition);
  say('note:', step.message ?? step.table?.message);
  say('join buffer:', step.buffer_type ?? step.using_join_buffer);
  if (step.using_temporary_table) made.warnings.push('uses a temporary table');
  if (step.using_filesort) made.notes.push('sorts the rows');
  if (key === 'temporary_table') made.warnings.push('uses a temporary table');
  return made;
}

const blockLabel = (block) => `Select ${block.select_id ?? ''}`.trim();

// FORMAT=JSON of MySQL, version 2: operations with inputs.

/** Steps of MySQL's executor by how their description begins (MySQL 8.0 to 9.7, sql/join_optimizer/explain_access_path.cc). */
const OPERATION = new RegExp(`^(?:${[
  '(?:(?:single-row|multi-range|covering|full-text|parallel|sample|dynamic|group) )*(?:table|index) (?:scan|lookup|range scan|skip scan|search)',
  'covering group skip scan|group index skip scan|intersect rows|deduplicate|constant row|rows fetched before execution|zero (?:input )?rows',
  'scan new records|count rows|fetch zero rows|filter|sort|limit|offset|group|aggregate|stream results|temporary table|append|window',
  '(?:union |union all |intersect |except )?materialize|nested loop|(?:inner|left|full)? ?hash|semijoin|antijoin|batched key access',
  'remove duplicate|repeat until convergence|weedout|delete from|update |insert into|replace into|select #|run|condition|alternative plans|invalidate|fill information schema',
].join('|')})`, 'i');

/** The access types of the tabular format that read everything; temporary tables do not count. */
function accessOf(label, table) {
  if (/^</.test(table ?? '')) return '';
  if (/^table scan/i.test(label)) return 'ALL';
  return /^(?:covering )?index scan/i.test(label) ? 'index' : '';
}

function fromOperation(operation, depth) {
  const inputs = depth < MAX_DEPTH ? [...(operation.inputs ?? []), ...(operation.inputs_from_select_list ?? [])] : [];
  const label = String(operation.operation ?? 'Step');
  return node(label, {
    table: operation.table_name ?? '',
    access: accessOf(label, operation.table_name),
    known: OPERATION.test(label),
    key: operation.index_name ?? '',
    rows: number(operation.estimated_rows),
    actualRows: number(operation.actual_rows),
    ms: number(operation.actual_last_row_ms),
    loops: number(operation.actual_loops),
    cost: number(operation.estimated_total_cost),
    notes: operation.condition && !label.includes(operation.condition) ? [`condition: ${operation.condition}`] : [],
    children: inputs.map((input) => fromOperation(input, depth + 1)),
  });
}

// FORMAT=TREE and EXPLAIN ANALYZE of MySQL: an outline of lines that begin with `->`.

function fromOutline(text) {
  const roots = [];
  const open = []; // { indent, children }
  for (const line of text.split('\n')) {
    const [, indent, body] = /^(\s*)->\s*(.*)$/.exec(line) ?? [];
    if (body === undefined) continue;
    while (open.length && open[open.length - 1].indent >= indent.length) open.pop();
    const made = outlineNode(body);
    (open.length ? open[open.length - 1].children : roots).push(made);
    open.push({ indent: indent.length, children: made.children });
  }
  return roots.length ? roots : null;
}

function outlineNode(body) {
  const figure = (pattern) => number(pattern.exec(body)?.[1]);
  const label = body.replace(/\s*\((cost|actual|never)[^()]*\)/g, '').trim();
  const [, table = ''] = /\b(?:scan|lookup) on (\S+)/i.exec(label) ?? [];
  const access = accessOf(label, table);
  return node(label, {
    access,
    table: access ? table : '',
    known: OPERATION.test(label),
    cost: figure(/\(cost=(?:[\d.e+]+\.\.)?([\d.e+]+)/),
    rows: figure(/\(cost=[^)]*rows=([\d.e+]+)/),
    actualRows: figure(/actual[^)]*rows=([\d.e+]+)/),
    ms: figure(/\(actual time=[\d.e+-]+\.\.([\d.e+-]+)/),
    loops: figure(/\(actual[^)]*loops=([\d.e+]+)/),
    notes: /\(never executed\)/.test(body) ? ['never run'] : [],
  });
}

// The tabular form.

function fromTable(names, rows) {
  const blocks = new Map();
  for (const row of rows) {
    const field = (name) => row[names.indexOf(name)] ?? '';
    const id = `${field('id')}`;
    if (!blocks.has(id)) blocks.set(id, node(`${capital(String(field('select_type')).toLowerCase())} ${id}`.trim()));
    blocks.get(id).children.push(rowNode(field));
  }
  return [...blocks.values()];
}

function rowNode(field) {
  const extra = String(field('extra')).split(/;\s*/).filter(Boolean);
  const made = node(field('type') ? accessLabel(field('type'), field('table')) : 'No table', {
    table: String(field('table')),
    access: String(field('type')),
    key: String(field('key')),
    rows: number(field('rows')),
    actualRows: number(field('r_rows')),
    filtered: number(field('filtered')),
    known: isKnownAccess(field('type')),
    notes: extra.filter((text) => !/temporary/i.test(text)),
  });
  if (field('ref')) made.notes.unshift(`compared with ${field('ref')}`);
  if (extra.some((text) => /temporary/i.test(text))) made.warnings.push('uses a temporary table');
  return made;
}

/** The greatest cost in the tree: the scale of the cost bars. */
export function greatestCost(nodes) {
  return nodes.reduce((most, item) => Math.max(most, item.cost ?? 0, greatestCost(item.children)), 0);
}
