import { agoText, factOf, hits, kindText, objectOf, placeOf, rowsOf, wordsOf } from '../../html/sql/core/matching.js';
import { assert, test } from './shim.mjs';

const match = (kind, more = {}) => ({ kind, db: 'shop', table: null, name: 'n', type: null, comment: null, ...more });
const text = (parts) => parts.map(({ text: part, hit }) => (hit ? `[${part}]` : part)).join('');

test('all places of all words are marked, in any case', () => {
  assert.deepEqual(wordsOf(' `Shop`.orders  ID '), ['shop', 'orders', 'id']);
  assert.deepEqual(wordsOf(' . '), []);
  assert.equal(text(hits('User_id of a user', ['user', 'id'])), '[User]_[id] of a [user]');
  assert.equal(text(hits('banana', ['ana', 'nan'])), 'b[anana]');
  assert.equal(text(hits('plain', [])), 'plain');
  assert.deepEqual(hits('', ['a']), []);
  // Its lower case is one letter longer.
  assert.equal(text(hits('İd', ['d'])), 'İd');
});

test('a match leads to the pane of its object, and to its rows where it has some', () => {
  assert.deepEqual(objectOf(match('column', { table: 't' })), { kind: 'table', db: 'shop', name: 't' });
  assert.deepEqual(objectOf(match('trigger', { table: 't', type: 'BEFORE INSERT' })), { kind: 'trigger', db: 'shop', name: 'n', on: 't' });
  assert.equal(objectOf(match('routine', { type: 'FUNCTION' })).kind, 'function');
  assert.equal(objectOf(match('routine', { type: 'PACKAGE BODY' })).kind, 'package body');
  assert.equal(objectOf(match('table', { type: 'SEQUENCE' })).kind, 'sequence');
  assert.equal(objectOf(match('event')).kind, 'event');
  assert.equal(rowsOf(match('column', { table: 't' })), 't');
  assert.equal(rowsOf(match('table', { type: 'BASE TABLE' })), 'n');
  assert.equal(rowsOf(match('table', { type: 'SEQUENCE' })), '');
  assert.equal(rowsOf(match('view')), 'n');
  assert.equal(rowsOf(match('trigger', { table: 't' })), '');
});

test('a line says what and where a match is', () => {
  assert.equal(placeOf(match('column', { table: 't' })), 'shop.t');
  assert.equal(placeOf(match('table')), 'shop');
  assert.equal(placeOf(match('database')), '');
  assert.equal(kindText(match('routine', { type: 'FUNCTION' })), 'function');
  assert.equal(kindText(match('table', { type: 'SEQUENCE' })), 'sequence');
  assert.equal(kindText(match('table', { type: 'BASE TABLE' })), 'table');
  assert.equal(factOf(match('column', { type: 'int(11)' })), 'int(11)');
  assert.equal(factOf(match('view', { type: 'VIEW' })), '');
});

test('the age of names is told in minutes, then in hours', () => {
  assert.deepEqual([-5000, 0, 59_999, NaN].map(agoText), ['just now', 'just now', 'just now', 'just now']);
  assert.deepEqual([60_000, 7_100_000, 7_200_000, 90_000_000].map(agoText), ['1 minute ago', '118 minutes ago', '2 hours ago', '25 hours ago']);
});
