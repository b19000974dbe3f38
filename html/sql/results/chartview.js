/**
 * The chart of a result, drawn here as SVG.
 * @module
 */

import { fill, h, svg } from '../../common/dom.js';
import { MAX_POINTS, MAX_SERIES, axisLabels, chartColumns, describeSeries, formatTick, sampleRows, splitSeries, ticks, toNumber } from '../core/chart.js';
import { savePicture } from './chartpicture.js';

/** Margins of the plot, in pixels: room for the axes' numbers and labels. */
const MARGIN = { top: 12, right: 16, bottom: 44, left: 64 };

/** Width of a label under the axis, in pixels, and its length in characters. */
const LABEL_WIDTH = 84;
const LABEL_CHARACTERS = 13;

/** Shows one result at a time. */
export class ChartView {
  /** @type {import('../core/resultset.js').ResultSet|null|undefined} */
  #result = undefined;
  /** Drawn columns, as `chartColumns` proposes and the person chooses. @type {any} */
  #columns = null;
  /** The points drawn: `labels`, `series` of `{name, values}`, `summary`, `sampled`. @type {any} */
  #data = null;
  /** Scales of the plot; made with the first drawing. @type {any} */
  #scales = null;
  #at = -1;
  #observer;

  constructor() {
    this.tools = h('div', { class: 'chart-tools' });
    this.legend = h('div', { class: 'chart-legend' });
    this.plot = h('div', { class: 'chart-plot', tabindex: 0, role: 'img', on: { keydown: (event) => this.#onKey(event) } });
    this.plot.addEventListener('pointermove', (event) => this.#onPointer(event));
    this.plot.addEventListener('pointerleave', () => this.#point(-1));
    this.tip = h('div', { class: 'chart-tip', hidden: true });
    this.spoken = h('div', { class: 'visually-hidden', 'aria-live': 'polite' });
    this.note = h('p', { class: 'chart-note dim' });
    this.element = h('div', { class: 'chart' }, this.tools, this.legend, h('div', { class: 'chart-frame' }, this.plot, this.tip), this.note, this.spoken);
    this.#observer = new ResizeObserver(() => this.#draw());
    this.#observer.observe(this.plot);
  }

  /** Frees what outlives the element. */
  dispose() {
    this.#observer.disconnect();
    this.#result = null;
  }

  /** @param {import('../core/resultset.js').ResultSet|null} result */
  show(result) {
    if (result === this.#result) return;
    this.#result = result;
    this.#columns = result ? chartColumns(result) : null;
    this.#update();
  }

  #update() {
    const drawn = this.#columns?.numbers.length && this.#result?.rows.length ? this.#result : null;
    this.element.classList.toggle('none', !drawn);
    this.#data = drawn && this.#collect(drawn);
    this.#at = -1;
    fill(this.tools, ...(drawn ? this.#controls(drawn) : [h('p', { class: 'empty', text: this.#emptyText() })]));
    this.#draw();
  }

  #emptyText() {
    if (!this.#result) return 'Run a query that returns numbers to see a chart here.';
    return this.#result.rows.length ? 'This result has no numeric column to draw.' : 'This result has no rows to draw.';
  }

  // Choices.

  #controls({ columns }) {
    const chosen = this.#columns;
    const select = (label, options, value, onChange) => {
      const field = h('select', { class: 'field', on: { change: () => { onChange(field.value); this.#update(); } } },
        options.map(([key, text]) => h('option', { value: key, text })));
      field.value = String(value);
      return h('label', { class: 'chart-choice' }, h('span', { class: 'dim', text: label }), field);
    };
    const labels = [[-1, 'row number'], ...chosen.labels.map((i) => [i, columns[i]])];
    return [
      select('Chart', [['bar', 'bars'], ['line', 'lines']], chosen.type, (value) => (chosen.type = value)),
      select('X axis', labels, chosen.label, (value) => (chosen.label = Number(value))),
      chosen.splits.length > 0 && select('Split by', [[-1, 'nothing'], ...chosen.splits.map((i) => [i, columns[i]])], chosen.split, (value) => (chosen.split = Number(value))),
      h('fieldset', { class: 'chart-values' }, h('legend', { class: 'dim', text: 'Values' }), chosen.numbers.map((i) => this.#valueBox(i, columns[i]))),
      h('button', { type: 'button', class: 'button small', text: 'Save as PNG', on: { click: () => this.#save() } }),
    ];
  }

  #valueBox(column, name) {
    const chosen = this.#columns;
    const box = h('input', { type: 'checkbox' });
    box.checked = chosen.values.includes(column);
    box.disabled = !box.checked && chosen.values.length >= MAX_SERIES;
    box.addEventListener('change', () => {
      const rest = chosen.values.filter((i) => i !== column);
      chosen.values = box.checked ? [...rest, column].sort((a, b) => a - b) : rest;
      const at = [...this.tools.querySelectorAll('input')].indexOf(box);
      this.#update();
      this.tools.querySelectorAll('input')[at]?.focus();
    });
    return h('label', { class: 'chart-value' }, box, name);
  }

  #collect({ rows, columns }) {
    const { label, split, values } = this.#columns;
    if (split >= 0 && values.length) return this.#collectSplit(splitSeries(rows, { label, split, value: values[0] }), columns[values[0]]);
    const whole = values.map((i) => rows.map((row) => toNumber(row[i])));
    const kept = sampleRows(whole, rows.length, MAX_POINTS);
    return {
      labels: kept.map((row) => (label < 0 ? String(row + 1) : String(rows[row][label] ?? 'NULL'))),
      series: values.map((i, n) => ({ name: columns[i], values: kept.map((row) => whole[n][row]) })),
      summary: values.map((i, n) => describeSeries(columns[i], whole[n])),
      note: kept.length < rows.length ? sampledText(kept.length, rows.length) : '',
    };
  }

  #collectSplit({ labels, series, left, summed }, name) {
    const kept = sampleRows(series.map(({ values }) => values), labels.length, MAX_POINTS);
    return {
      labels: kept.map((row) => labels[row]),
      series: series.map((one) => ({ name: one.name, values: kept.map((row) => one.values[row]) })),
      summary: series.map((one) => describeSeries(one.name, one.values)),
      note: [`${name} is drawn.`, summed && 'Rows with the same value are added up.', left > 0 && `${left} more with fewer rows are not drawn.`,
        kept.length < labels.length && sampledText(kept.length, labels.length)].filter(Boolean).join(' '),
    };
  }

  // Drawing.

  #draw() {
    this.#point(-1);
    const [width, height] = [this.plot.clientWidth, this.plot.clientHeight];
    fill(this.plot);
    fill(this.legend, ...(this.#data?.series ?? []).map(({ name }, i) => h('span', { class: `series-${i}` }, h('i', {}), name)));
    this.note.textContent = this.#data?.note ?? '';
    if (!this.#data || width < 120 || height < 80) return;
    this.#scale(width, height);
    this.plot.setAttribute('aria-label', this.#altText());
    this.plot.append(svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' },
      ...this.#axes(), ...this.#data.series.flatMap((series, i) => this.#series(series, i)), this.#cursor()));
  }

  #save() {
    const drawing = this.plot.querySelector('svg');
    if (drawing) savePicture(drawing, this.#data.series.map(({ name }) => name), this.element);
  }

  #altText() {
    const kind = this.#columns.type === 'bar' ? 'Bar chart' : 'Line chart';
    return `${kind} of ${this.#data.labels.length} points. ${this.#data.summary.join('. ')}. Arrow keys read the points; the grid has all values.`;
  }

  #scale(width, height) {
    const all = this.#data.series.flatMap(({ values }) => values.filter((value) => value !== null));
    const least = all.reduce((a, b) => Math.min(a, b), Infinity);
    const most = all.reduce((a, b) => Math.max(a, b), -Infinity);
    const known = Number.isFinite(least);
    const fromZero = this.#columns.type === 'bar' || (least >= 0 && least < most / 2);
    const marks = known ? ticks(fromZero ? Math.min(0, least) : least, fromZero ? Math.max(0, most) : most) : [0, 1];
    const plot = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
    const [low, high] = [marks[0], marks[marks.length - 1]];
    const step = (plot.right - plot.left) / this.#data.labels.length;
    this.#scales = {
      plot, marks, step,
      x: (i) => plot.left + (i + 0.5) * step,
      y: (value) => plot.bottom - ((value - low) / (high - low)) * (plot.bottom - plot.top),
      base: Math.min(Math.max(0, low), high),
    };
  }

  #axes() {
    const { plot, marks, y } = this.#scales;
    const lines = marks.flatMap((mark) => [
      svg('line', { class: mark === 0 ? 'axis' : 'gridline', x1: plot.left, x2: plot.right, y1: y(mark), y2: y(mark) }),
      svg('text', { class: 'tick', x: plot.left - 8, y: y(mark) + 4, 'text-anchor': 'end' }, formatTick(mark)),
    ]);
    return [...lines, ...this.#labels()];
  }

  #labels() {
    const { plot, x } = this.#scales;
    const labels = axisLabels(this.#data.labels);
    const every = Math.max(1, Math.ceil((labels.length * LABEL_WIDTH) / (plot.right - plot.left)));
    const shown = labels.map((text, i) => ({ text, i })).filter(({ i }) => i % every === 0);
    return shown.map(({ text, i }) => svg('text', { class: 'tick', x: x(i), y: plot.bottom + 18, 'text-anchor': 'middle' }, short(text)));
  }

  #series({ values }, index) {
    return this.#columns.type === 'bar' ? this.#bars(values, index) : this.#line(values, index);
  }

  #bars(values, index) {
    const { step, x, y, base } = this.#scales;
    const group = Math.max(1, step * 0.8);
    const width = Math.max(0.5, group / this.#data.series.length);
    return values.flatMap((value, i) => {
      if (value === null) return [];
      const top = Math.min(y(value), y(base));
      const height = Math.max(1, Math.abs(y(value) - y(base)));
      return [svg('rect', { class: `chart-bar series-${index}`, x: x(i) - group / 2 + index * width, y: top, width, height })];
    });
  }

  /** One path; NULL interrupts it. */
  #line(values, index) {
    const { x, y } = this.#scales;
    let path = '';
    let drawing = false;
    values.forEach((value, i) => {
      if (value !== null) path += `${drawing ? 'L' : 'M'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
      drawing = value !== null;
    });
    const few = values.length <= 60;
    const dots = few ? values.flatMap((value, i) => (value === null ? [] : [svg('circle', { class: `chart-dot series-${index}`, cx: x(i), cy: y(value), r: 2.5 })])) : [];
    return [svg('path', { class: `chart-line series-${index}`, d: path, fill: 'none' }), ...dots];
  }

  #cursor() {
    const { plot } = this.#scales;
    this.cursor = svg('line', { class: 'cursor', y1: plot.top, y2: plot.bottom, visibility: 'hidden' });
    return this.cursor;
  }

  // Pointing.

  #onPointer(event) {
    if (!this.#data || !this.#scales) return;
    const x = event.clientX - this.plot.getBoundingClientRect().left - this.#scales.plot.left;
    const at = Math.floor(x / this.#scales.step);
    this.#point(at >= 0 && at < this.#data.labels.length ? at : -1);
  }

  #onKey(event) {
    const last = (this.#data?.labels.length ?? 0) - 1;
    const to = { ArrowRight: this.#at + 1, ArrowLeft: this.#at - 1, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.#point(Math.min(Math.max(0, to), last));
    this.spoken.textContent = this.#lines().join(', ');
  }

  #lines() {
    const { labels, series } = this.#data;
    return [labels[this.#at], ...series.map(({ name, values }) => `${name}: ${values[this.#at] ?? 'NULL'}`)];
  }

  #point(at) {
    this.#at = at;
    this.tip.hidden = at < 0;
    this.cursor?.setAttribute('visibility', at < 0 ? 'hidden' : 'visible');
    if (at < 0) return;
    const x = this.#scales.x(at);
    this.cursor?.setAttribute('x1', x);
    this.cursor?.setAttribute('x2', x);
    const [label, ...lines] = this.#lines();
    fill(this.tip, h('strong', { text: short(label, 60) }), ...lines.map((text, i) => h('div', { class: `series-${i}` }, h('i', {}), text)));
    const left = x + 12 + this.tip.offsetWidth > this.plot.clientWidth ? x - 12 - this.tip.offsetWidth : x + 12;
    this.tip.style.left = `${Math.max(0, left)}px`;
  }
}

const sampledText = (drawn, all) => `${drawn.toLocaleString('en')} of ${all.toLocaleString('en')} rows are drawn: the lowest and highest value of each section.`;

const short = (text, most = LABEL_CHARACTERS) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
