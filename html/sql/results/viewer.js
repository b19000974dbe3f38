/**
 * The viewer beside the grid: the whole of one cell.
 * @module
 */

import { fill, h, icon, iconButton } from '../../common/dom.js';
import { formatBytes } from '../../common/figures.js';
import { extensionOf, geometryText, hexBytes, hexDump, imageType, looksLikeUuid, uuidText, vectorText } from '../core/binary.js';
import { layOutJson } from '../core/json.js';
import { hexSize, isBinaryKind, isHex, vectorSize } from '../core/types.js';
import { copyPieces, fileName, saveBlob } from './download.js';
import { hexBlob } from './hexblob.js';
import { ViewerFind } from './viewerfind.js';

/** Characters shown, since browsers slow down with more; the file that can be saved holds everything. */
const MAX_TEXT = 400_000;

/** Characters up to which JSON is laid out and highlighted. */
const MAX_JSON = 200_000;

/** Bytes of a hex dump. */
const MAX_DUMP = 1 << 16;

/** Bytes up to which a geometry is decoded. */
const MAX_GEOMETRY = 1 << 20;

/** @typedef {{value: any, kind: string, type: string, column: string, row: number}} Cell */

/** Shows one value at a time. */
export class Viewer {
  #notify;
  /** @type {Cell|null} */
  #cell = null;
  #choice = ''; // the mode chosen last
  #wrap = true;
  #imageUrl = '';
  #drawing = 0;

  /** @param {HTMLElement} element to fill @param {{onClose: () => void, onStep: (by: 1|-1) => void, notify: Notify, why?: string}} deps `onStep`: to the row above or below; `why`: why the value is not changed here */
  constructor(element, { onClose, onStep, notify, why = '' }) {
    this.#notify = notify;
    this.title = h('span', { class: 'viewer-title' });
    this.facts = h('span', { class: 'viewer-facts dim' });
    this.modes = h('div', { class: 'viewer-modes', role: 'group', 'aria-label': 'Show as' });
    this.wrapButton = this.#toggle('Wrap', () => this.#setWrap(!this.#wrap));
    this.body = h('div', { class: 'viewer-body', tabindex: 0, role: 'document', 'aria-label': 'Value' });
    this.find = new ViewerFind(this.body);
    const above = iconButton('chevron-up', 'Previous row (Alt+↑)', () => onStep(-1));
    const below = iconButton('chevron-down', 'Next row (Alt+↓)', () => onStep(1));
    const copy = iconButton('copy', 'Copy the whole value', () => this.#copy());
    const save = iconButton('download', 'Save the value as a file', () => this.#save());
    const close = iconButton('close', 'Close the viewer (Esc)', onClose);
    this.element = element;
    element.append(
      h('div', { class: 'viewer-head' }, this.title, this.facts, above, below, copy, save, close),
      h('div', { class: 'viewer-tools' }, this.modes, this.find.count, this.find.input, this.wrapButton), this.body,
      h('p', { class: 'viewer-why dim', text: why, hidden: why === '' }));
    this.element.addEventListener('keydown', (event) => {
      const step = event.altKey && { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (event.key !== 'Escape' && !step) return;
      event.preventDefault();
      event.stopPropagation();
      if (step) onStep(step);
      else onClose();
    });
    this.#setWrap(true);
  }

  close() {
    this.#cell = null;
    this.#releaseImage();
    fill(this.body);
  }

  /** @param {Cell} cell its value may be the content of a file that is not applied yet */
  show({ value, ...rest }) {
    const cell = { ...rest, value: typeof value?.content === 'function' ? value.content(isBinaryKind(rest.kind)) ?? String(value) : value };
    this.#cell = cell;
    this.title.textContent = cell.column;
    this.title.title = cell.column;
    this.facts.textContent = ['row ' + cell.row.toLocaleString('en'), cell.type, sizeOf(cell)].filter(Boolean).join(' · ');
    const modes = modesOf(cell);
    this.#draw(modes.includes(this.#choice) ? this.#choice : modes[0], modes, cell);
  }

  focus() {
    this.body.focus();
  }

  #toggle(text, onClick) {
    return h('button', { type: 'button', class: 'button quiet small', on: { click: onClick } }, text);
  }

  #setWrap(on) {
    this.#wrap = on;
    this.wrapButton.setAttribute('aria-pressed', String(on));
    this.body.classList.toggle('wrap', on);
  }

  #draw(mode, modes, cell) {
    fill(this.modes, modes.map((name) => {
      const button = this.#toggle(name, () => {
        this.#choice = name;
        this.#draw(name, modes, cell);
      });
      button.setAttribute('aria-pressed', String(name === mode));
      return button;
    }));
    this.modes.hidden = modes.length < 2;
    this.body.scrollTop = 0;
    this.#releaseImage();
    this.#drawing += 1;
    if (mode === 'Image') this.#drawImage(this.#drawing, cell);
    else fill(this.body, ...content(mode, cell));
    if (this.find.input.value) this.find.search();
  }

  async #drawImage(drawing, { value, column }) {
    fill(this.body, h('p', { class: 'dim', text: 'Decoding…' }));
    const blob = await hexBlob(value, imageType(hexBytes(value, 16)) ?? undefined);
    if (drawing !== this.#drawing || !this.#cell) return;
    this.#imageUrl = URL.createObjectURL(blob);
    const image = h('img', { src: this.#imageUrl, alt: `Image in ${column}` });
    const size = h('p', { class: 'dim' });
    image.addEventListener('load', () => (size.textContent = `${image.naturalWidth} × ${image.naturalHeight} pixels`));
    image.addEventListener('error', () => (size.textContent = 'The browser cannot decode this image; see the bytes as hex.'));
    fill(this.body, image, size);
  }

  #releaseImage() {
    if (this.#imageUrl) URL.revokeObjectURL(this.#imageUrl);
    this.#imageUrl = '';
  }

  async #copy() {
    if (!this.#cell) return;
    const { value } = this.#cell;
    await copyPieces(Promise.resolve([value === null ? 'NULL' : String(value)]));
    this.#notify('Value copied', 'good');
  }

  async #save() {
    if (!this.#cell) return;
    const { value, kind, column } = this.#cell;
    if (isBinaryKind(kind) && isHex(value)) {
      const type = imageType(hexBytes(value, 16));
      saveBlob(await hexBlob(value, type ?? undefined), fileName(column, extensionOf(type)));
    } else {
      saveBlob(new Blob([value === null ? '' : String(value)]), fileName(column, kind === 'json' ? 'json' : 'txt'));
    }
  }
}

function sizeOf({ value, kind }) {
  if (value === null) return 'NULL';
  if (typeof value === 'object') return '';
  if (isBinaryKind(kind) && isHex(value)) return formatBytes(hexSize(value));
  const length = String(value).length;
  return `${length.toLocaleString('en')} ${length === 1 ? 'character' : 'characters'}`;
}

/** The ways to show a value, the most telling first. */
function modesOf({ value, kind }) {
  if (value === null || value === '') return ['Text'];
  if (isBinaryKind(kind) && isHex(value)) return binaryModes(value, kind);
  return looksLikeJson(String(value)) ? ['JSON', 'Text'] : ['Text'];
}

function binaryModes(value, kind) {
  if (kind === 'bit') return ['Bits', 'Hex'];
  if (kind === 'geometry') return ['Geometry', 'Hex'];
  if (kind === 'vector') return ['Numbers', 'Hex'];
  if (imageType(hexBytes(value, 16))) return ['Image', 'Hex'];
  const modes = decodeText(value) === null ? ['Hex'] : ['Hex', 'Text'];
  if (hexSize(value) !== 16) return modes;
  return looksLikeUuid(hexBytes(value)) ? ['UUID', ...modes] : [...modes, 'UUID'];
}

function looksLikeJson(text) {
  return text.length <= MAX_JSON && /^\s*[{[]/.test(text) && layOutJson(text) !== null;
}

/** The bytes as UTF-8 text; null where they are not. */
function decodeText(hex) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(hexBytes(hex, MAX_DUMP), { stream: hexSize(hex) > MAX_DUMP });
  } catch {
    return null;
  }
}

function content(mode, { value, kind }) {
  if (value === null) return [h('p', { class: 'dim' }, h('i', { text: 'NULL' }), ': no value')];
  if (value === '') return [h('p', { class: 'dim', text: 'Empty text (no characters).' })];
  switch (mode) {
    case 'JSON':
      return [h('pre', {}, layOutJson(String(value))?.map(jsonSpan))];
    case 'Hex':
      return hexContent(value);
    case 'UUID':
      return uuidContent(value);
    case 'Bits':
      return [h('pre', { text: bitText(value) })];
    case 'Numbers':
      return vectorContent(value);
    case 'Geometry':
      return geometryContent(value);
    default:
      return textContent(isBinaryKind(kind) && isHex(value) ? decodeText(value) : String(value));
  }
}

const jsonSpan = ({ type, text }) => (type === 'space' || type === 'punct' ? text : h('span', { class: `json-${type}`, text }));

function textContent(text) {
  const shown = text.slice(0, MAX_TEXT);
  return [shown.length < text.length && cutNote(`the first ${MAX_TEXT.toLocaleString('en')} characters`), h('pre', { text: shown })];
}

function hexContent(hex) {
  const cut = hexSize(hex) > MAX_DUMP;
  return [cut && cutNote(`the first ${formatBytes(MAX_DUMP)}`), h('pre', { class: 'dump', text: hexDump(hexBytes(hex, MAX_DUMP)) })];
}

const cutNote = (what) => h('p', { class: 'viewer-note' }, icon('info'), `Shown: ${what}. Save the value to see all of it.`);

function bitText(hex) {
  const number = BigInt(hex.length > 2 ? hex : 0);
  return `binary   ${number.toString(2).padStart(hexSize(hex) * 8, '0')}\ndecimal  ${number}\nhex      ${hex}`;
}

function uuidContent(hex) {
  const bytes = hexBytes(hex);
  return [h('pre', { text: uuidText(bytes) }), h('p', { class: 'dim', text: 'With its time parts swapped back, as UUID_TO_BIN(…, 1) stores it:' }), h('pre', { text: uuidText(bytes, true) })];
}

function vectorContent(hex) {
  const text = vectorText(hexBytes(hex));
  if (text === null) return [h('p', { class: 'dim', text: 'Unknown vector format; the bytes:' }), ...hexContent(hex)];
  return [h('p', { class: 'dim', text: `${vectorSize(hex).toLocaleString('en')} numbers` }), ...textContent(text)];
}

function geometryContent(hex) {
  const found = hexSize(hex) <= MAX_GEOMETRY ? geometryText(hexBytes(hex)) : null;
  if (!found) return [h('p', { class: 'dim', text: 'Unknown geometry format; the bytes:' }), ...hexContent(hex)];
  return [h('p', { class: 'dim', text: `SRID ${found.srid}` }), h('pre', { text: found.wkt })];
}
