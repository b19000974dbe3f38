import { greatestCost, greatestTime, inTabularForm, isPlanRefused, planOf, timeOf, unknownSteps } from '../../html/sql/core/plan.js';
import { assert, test } from './shim.mjs';

const asResult = (plan) => ({ columns: ['EXPLAIN'], rows: [[typeof plan === 'string' ? plan : JSON.stringify(plan)]] });
const outline = (nodes, depth = 0) =>
  nodes.flatMap((node) => [`${' '.repeat(depth)}${node.label}${node.table && ` ${node.table}`}`, ...outline(node.children, depth + 1)]);
const flat = (nodes) => nodes.flatMap((node) => [node, ...flat(node.children)]);

test('MariaDB: sort over a join, with a warning for the full scan', () => {
  const plan = planOf(asResult({
    query_block: {
      select_id: 1,
      read_sorted_file: {
        filesort: {
          sort_key: 'c.name',
          temporary_table: {
            nested_loop: [
              { table: { table_name: 'o', access_type: 'ALL', rows: 5000, filtered: 100, attached_condition: 'o.x > 1' } },
              { table: { table_name: 'c', access_type: 'eq_ref', possible_keys: ['PRIMARY'], key: 'PRIMARY', ref: ['d.o.c'], rows: 1, filtered: 100 } },
            ],
          },
        },
      },
    },
  }));
  assert.deepEqual(outline(plan), [
    'Select 1', ' Sort', '  Temporary table', '   Nested loop join', '    Full table scan o', '    Unique index lookup c',
  ]);
  const nodes = flat(plan);
  assert.deepEqual(nodes.find((n) => n.table === 'o').warnings, ['reads the whole table: 5,000 rows']);
  assert.deepEqual(nodes.find((n) => n.table === 'c').warnings, []);
  assert.equal(nodes.find((n) => n.table === 'c').key, 'PRIMARY');
});

test('MariaDB: union, subqueries and measured rows', () => {
  const block = (id) => ({ query_block: { select_id: id, nested_loop: [{ table: { table_name: `t${id}`, access_type: 'ref', rows: 2, r_rows: 3 } }] } });
  const plan = planOf({ columns: ['ANALYZE'], rows: [[JSON.stringify({
    query_block: { union_result: { table_name: '<union1,2>', access_type: 'ALL', query_specifications: [block(1), block(2)] } },
  })]] });
  assert.deepEqual(outline(plan), ['Select', ' Union', '  Select 1', '   Index lookup t1', '  Select 2', '   Index lookup t2']);
  assert.equal(flat(plan).find((n) => n.table === 't1').actualRows, 3);
});

test('MySQL: cost_info as strings', () => {
  const plan = planOf(asResult({
    query_block: {
      select_id: 1,
      cost_info: { query_cost: '12.50' },
      ordering_operation: {
        using_temporary_table: true,
        using_filesort: true,
        table: { table_name: 't', access_type: 'range', key: 'k', rows_examined_per_scan: 40, filtered: '33.33', cost_info: { prefix_cost: '11.00' }, used_columns: ['a'] },
      },
    },
  }));
  assert.deepEqual(outline(plan), ['Select 1', ' Order', '  Index range t']);
  assert.equal(plan[0].cost, 12.5);
  assert.equal(flat(plan)[2].filtered, 33.33);
  assert.deepEqual(flat(plan)[1].warnings, ['uses a temporary table']);
  assert.equal(greatestCost(plan), 12.5);
});

test('MySQL: version 2 and the outline of EXPLAIN ANALYZE', () => {
  const second = planOf(asResult({ query: 'x', operation: 'Sort', estimated_rows: 9, inputs: [{ operation: 'Table scan on t', access_type: 'table', table_name: 't', estimated_rows: 900 }] }));
  assert.deepEqual(outline(second), ['Sort', ' Table scan on t t']);
  assert.equal(second[0].children[0].warnings.length, 1);
  const tree = planOf(asResult('-> Sort: t.a  (cost=5.1 rows=900)\n    -> Table scan on t  (cost=0.35..5.1 rows=900) (actual time=0.1..0.2 rows=901 loops=1)\n'));
  assert.deepEqual(outline(tree), ['Sort: t.a', ' Table scan on t t']);
  const scan = tree[0].children[0];
  assert.deepEqual([scan.cost, scan.rows, scan.actualRows], [5.1, 900, 901]);
  assert.deepEqual([scan.ms, scan.loops, tree[0].ms], [0.2, 1, null]);
  const [never] = planOf(asResult('-> Table scan on t  (cost=0.35 rows=1) (never executed)\n'));
  assert.deepEqual([never.notes, never.ms], [['never run'], null]);
  const measured = { query: 'x', operation: 'Filter: (t.a > 1)', condition: '(t.a > 1)', actual_last_row_ms: 1.5, actual_loops: 3 };
  const [filter] = planOf(asResult(measured));
  assert.deepEqual([filter.ms, filter.loops, filter.notes], [1.5, 3, []]);
});

test('the time of a step is that of all its loops', () => {
  const tree = planOf(asResult('-> Nested loop  (actual time=0.1..89.2 rows=9 loops=1)\n    -> Index lookup on t  (actual time=0.001..0.002 rows=1 loops=37500)\n'));
  assert.equal(greatestTime(tree), 89.2);
  assert.equal(timeOf(tree[0].children[0]), 75);
});

test('tabular EXPLAIN', () => {
  const plan = planOf({
    columns: ['id', 'select_type', 'table', 'type', 'possible_keys', 'key', 'key_len', 'ref', 'rows', 'Extra'],
    rows: [[1, 'SIMPLE', 't', 'ALL', null, null, null, null, 1000, 'Using where; Using temporary; Using filesort'], [1, 'SIMPLE', 'u', 'ref', 'k', 'k', '4', 'd.t.a', 1, null]],
  });
  assert.deepEqual(outline(plan), ['Simple 1', ' Full table scan t', ' Index lookup u']);
  assert.deepEqual(plan[0].children[0].warnings, ['reads the whole table: 1,000 rows', 'uses a temporary table']);
  assert.deepEqual(plan[0].children[0].notes, ['Using where', 'Using filesort']);
});

test('what is no plan is none', () => {
  assert.equal(planOf({ columns: ['a'], rows: [['{"query_block":{}}']] }), null);
  assert.equal(planOf(asResult('{ broken')), null);
  assert.equal(planOf({ columns: ['EXPLAIN'], rows: [] }), null);
  assert.equal(planOf({ columns: ['EXPLAIN'], rows: [[null]] }), null);
  const deep = `${'{"query_block":'.repeat(5000)}{}${'}'.repeat(5000)}`;
  assert.equal(flat(planOf(asResult(deep))).length, 65);
});

test('MariaDB: remarks without a table, derived tables and measurements are no steps of their own', () => {
  const plan = planOf({ columns: ['ANALYZE'], rows: [[JSON.stringify({
    query_optimization: { r_total_time_ms: 0.1 },
    query_block: {
      select_id: 1,
      nested_loop: [{ table: { table_name: '<derived2>', access_type: 'ALL', rows: 2000, r_engine_stats: {}, materialized: { query_block: { select_id: 2, table: { message: 'No tables used' } } } } }],
    },
  })]] });
  assert.deepEqual(outline(plan), ['Select 1', ' Read all of <derived2>', '  Materialise', '   Select 2']);
  assert.deepEqual(flat(plan).flatMap((n) => n.warnings), []);
  assert.deepEqual(flat(plan)[3].notes, ['note: No tables used']);
});

const steps = (...labels) => planOf(asResult({ operation: labels[0], inputs: labels.slice(1).map((operation) => ({ operation })) }));

test('MySQL: a plan that was not made is told apart and asked for in the tabular form', () => {
  const none = '<not executable by iterator executor>';
  assert.equal(isPlanRefused(asResult({ query: 'x', operation: none })), true);
  assert.equal(isPlanRefused(asResult(`${none}\n`)), true);
  assert.equal(isPlanRefused(asResult({ query: `SELECT '${none}'`, operation: 'Rows fetched before execution' })), false);
  assert.equal(isPlanRefused({ columns: ['id', 'select_type'], rows: [[1, 'DELETE']] }), false);
  assert.equal(isPlanRefused({ columns: ['EXPLAIN'], rows: [] }), false);
  assert.equal(inTabularForm("EXPLAIN FORMAT=JSON DELETE FROM t WHERE a = 'FORMAT=JSON '"), "EXPLAIN FORMAT=TRADITIONAL DELETE FROM t WHERE a = 'FORMAT=JSON '");
  assert.equal(inTabularForm(' explain DELETE FROM t'), ' explain FORMAT=TRADITIONAL DELETE FROM t');
});

test('steps that are not understood are named, whatever form the plan has', () => {
  assert.deepEqual(unknownSteps(steps('<not executable by iterator executor>')), ['<not executable by iterator executor>']);
  assert.deepEqual(unknownSteps(steps('Sort: a', 'Quantum leap on t')), ['Quantum leap on t']);
  assert.deepEqual(unknownSteps(planOf(asResult('-> Limit: 1 row(s)\n    -> Quantum leap on t\n'))), ['Quantum leap on t']);
  assert.deepEqual(unknownSteps(planOf(asResult({ query_block: { select_id: 1, quantum_leap: { table: { table_name: 't', access_type: 'ref' } } } }))), ['Quantum leap']);
  assert.deepEqual(unknownSteps(planOf(asResult({ query_block: { select_id: 1, table: { table_name: 't', access_type: 'quantum' } } }))), ['Table']);
});

test('MySQL: the steps of everyday plans are understood', () => {
  const known = ['Table scan on t', 'Covering index scan on t using k', 'Index lookup on t using k (a = 1)', 'Single-row covering index lookup on c using PRIMARY (id = o.c)',
    'Index range scan on t using k over (1 < a)', 'Covering index skip scan for grouping on t using k', 'Rows fetched before execution', 'Zero rows (Impossible WHERE)', 'Nested loop inner join', 'Inner hash join (a = b)', 'Hash semijoin (a = b)', 'Hash',
    'Filter: (t.a = 1)', 'Sort: t.a', 'Limit: 3 row(s)', 'Group aggregate: count(0)', 'Aggregate using temporary table', 'Union materialize with deduplication', 'Materialize recursive CTE s', 'Repeat until convergence',
    'Temporary table with deduplication', 'Window aggregate: row_number() OVER w', 'Stream results', 'Scan new records on s', 'Select #2 (subquery in projection; run only once)', 'Delete from t (immediate)', 'Update t (buffered)', 'Insert into t', 'Replace into t'];
  for (const label of known) assert.deepEqual(unknownSteps(steps(label)), [], label);
});

test('MySQL: reading a whole index is a remark in every form', () => {
  const second = planOf(asResult({ operation: 'Covering index scan on t using k', access_type: 'index', table_name: 't', index_name: 'k', estimated_rows: 900 }));
  assert.deepEqual(second[0].warnings, ['reads the whole index: 900 rows']);
  const tree = planOf(asResult('-> Covering index scan on t using k  (cost=5.1 rows=900)\n'));
  assert.deepEqual(tree[0].warnings, ['reads the whole index: 900 rows']);
  const made = planOf(asResult({ operation: 'Table scan on <temporary>', access_type: 'table', table_name: '<temporary>', estimated_rows: 900 }));
  assert.deepEqual(made[0].warnings, []);
});
