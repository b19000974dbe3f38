/**
 * A plan as a tree that can be read.
 * @module
 */

import { fill, h, icon } from '../../common/dom.js';
import { greatestCost, greatestTime, timeOf, unknownSteps } from '../core/plan.js';

export { inTabularForm, isPlanRefused, planOf } from '../core/plan.js';

/**
 * Shows plan nodes in `host`.
 * @param {Element} host
 * @param {import('../core/plan.js').PlanNode[]} nodes
 */
export function showPlan(host, nodes) {
  const scale = scaleOf(nodes);
  fill(host, summary(nodes), h('ul', { class: 'plan-tree' }, nodes.map((node) => item(node, scale))));
}

/** A plan is called fine only when every step in it is known. */
function summary(nodes) {
  const warnings = count(nodes);
  const [unknown] = unknownSteps(nodes);
  if (warnings) return h('p', { class: 'plan-summary warn' }, icon('warn'), `${warnings} ${warnings === 1 ? 'remark' : 'remarks'} to check`);
  if (unknown !== undefined) return h('p', { class: 'plan-summary unknown' }, icon('info'), `Not rated: unknown step “${unknown.slice(0, 80)}”`);
  return h('p', { class: 'plan-summary' }, icon('check'), 'No problems found');
}

const count = (nodes) => nodes.reduce((sum, node) => sum + node.warnings.length + count(node.children), 0);

function item(node, scale) {
  const below = node.children.length ? h('ul', {}, node.children.map((child) => item(child, scale))) : null;
  return h('li', { class: 'plan-node' }, line(node, scale),
    node.notes.length > 0 && h('ul', { class: 'plan-notes' }, node.notes.map((text) => h('li', { text }))),
    node.warnings.map((text) => h('p', { class: 'plan-warning' }, icon('warn'), h('span', { text }))), below);
}

function line(node, scale) {
  return h('div', { class: 'plan-line' },
    h('span', { class: 'plan-label', text: node.label }),
    node.table && !names(node.label, node.table) && h('span', { class: 'plan-table mono', text: node.table }),
    node.access && !READS_ALL.test(node.label) && h('span', { class: node.warnings.length ? 'plan-access bad' : 'plan-access', title: 'access type', text: node.access }),
    node.key && h('span', { class: 'plan-key', title: 'index used' }, icon('key'), node.key),
    h('span', { class: 'plan-figures' }, figures(node), bar(scale(node))));
}

function figures(node) {
  const parts = [];
  if (node.rows !== null) parts.push(`≈ ${round(node.rows)} ${node.rows === 1 ? 'row' : 'rows'}`);
  if (node.actualRows !== null) parts.push(`${round(node.actualRows)} actual`);
  if (node.ms !== null) parts.push(node.loops > 1 ? `${round(node.ms)} ms × ${round(node.loops)}` : `${round(node.ms)} ms`);
  if (node.filtered !== null && node.filtered < 100) parts.push(`${round(node.filtered)} % pass`);
  if (node.cost !== null) parts.push(`cost ${round(node.cost)}`);
  return parts.join(' · ');
}

const round = (value) => Number(value.toPrecision(4)).toLocaleString('en');

/** Labels that say of themselves what the access types ALL and index mean. */
const READS_ALL = /^(?:table|index|covering index) scan/i;

/** True if a label names the table already, as the outlines of MySQL do. */
const names = (label, table) => label.split(/[^\w$.<>]+/).includes(table);

/** Figure that the bars compare: time where it was measured, else cost; of a step, its share. @returns {(node: import('../core/plan.js').PlanNode) => number|null} */
function scaleOf(nodes) {
  const time = greatestTime(nodes);
  if (time > 0) return (node) => (node.ms === null ? null : timeOf(node) / time);
  const cost = greatestCost(nodes);
  return (node) => (node.cost === null || cost === 0 ? null : node.cost / cost);
}

/** The share; the figures beside it say the same in words. @param {number|null} share */
function bar(share) {
  if (share === null) return null;
  const inner = h('i', {});
  inner.style.width = `${Math.max(2, Math.round(share * 100))}%`;
  return h('span', { class: 'plan-bar', 'aria-hidden': 'true' }, inner);
}
