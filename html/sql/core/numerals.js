/**
 * Exact arithmetic of decimal numerals, as databases write them.
 * @module
 */

/** Digits of a mean beyond those of the values, as many as the server gives. */
const MEAN_DIGITS = 4;

/** Longest exponent that is written out. */
const MOST_EXPONENT = 400;

const NUMERAL = /^([-+]?)0*(\d*)(?:\.(\d*))?(?:e([-+]?\d{1,4}))?$/i;

/**
 * One text for all ways to write a number: `1.50`, `1.5` and `15e-1` are the same. Other texts stay as they are.
 * @param {any} value
 * @returns {string}
 */
export function canonical(value) {
  const text = String(value);
  const found = /^[-+]?\.?\d/.test(text) ? NUMERAL.exec(text) : null;
  if (!found || Math.abs(Number(found[4] ?? 0)) > MOST_EXPONENT) return text;
  const [, sign, whole, fraction = '', exponent = '0'] = found;
  const by = Number(exponent);
  const digits = whole + fraction;
  const point = whole.length + by;
  const before = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '';
  const behind = point > 0 ? digits.slice(point) : '0'.repeat(-point) + digits;
  const plain = [before.replace(/^0+/, '') || '0', behind.replace(/0+$/, '')].filter(Boolean).join('.');
  return sign === '-' && plain !== '0' ? `-${plain}` : plain;
}

/** Sum of numerals without loss of a digit; those of a double are added as doubles. */
export class Sum {
  /** Sums of whole multiples of 0.1 to the power of the index: as a double where that is exact, and the rest. @type {{small: number, large: bigint}[]} */
  #scales = [];
  /** Sum of the doubles, and what rounding lost of it. */
  #float = 0;
  #lost = 0;
  /** True if a double is among them, so that the sum is approximate. */
  isApproximate = false;
  count = 0;

  /** @param {any} value @param {boolean} isFloat whether it is a double of the database */
  add(value, isFloat) {
    this.count += 1;
    const numeral = isFloat ? null : /^([-+]?\d+)(?:\.(\d*))?$/.exec(String(value));
    if (numeral) this.#addExact(numeral[1], numeral[2] ?? '');
    else this.#addFloat(Number(value));
  }

  #addExact(whole, fraction) {
    const digits = whole + fraction;
    const scale = (this.#scales[fraction.length] ??= { small: 0, large: 0n });
    const next = digits.length < 16 ? scale.small + Number(digits) : NaN;
    if (Number.isSafeInteger(next)) scale.small = next;
    else scale.large += BigInt(digits);
  }

  #addFloat(value) {
    this.isApproximate = true;
    const next = this.#float + value;
    // The part of the smaller one that the sum has no digits for.
    this.#lost += Math.abs(this.#float) >= Math.abs(value) ? this.#float - next + value : value - next + this.#float;
    this.#float = next;
  }

  get #exact() {
    const scale = Math.max(0, this.#scales.length - 1);
    let units = 0n;
    for (const [i, one] of this.#scales.entries()) if (one) units += (BigInt(one.small) + one.large) * 10n ** BigInt(scale - i);
    return { units, scale };
  }

  get #approximate() {
    const { units, scale } = this.#exact;
    return Number(written(units, scale)) + this.#float + (Number.isFinite(this.#lost) ? this.#lost : 0);
  }

  /** @returns {string} */
  get text() {
    const { units, scale } = this.#exact;
    return this.isApproximate ? short(this.#approximate) : written(units, scale);
  }

  /** @returns {{text: string, isApproximate: boolean}} */
  get mean() {
    if (this.isApproximate) return { text: short(this.#approximate / this.count), isApproximate: true };
    const { units, scale } = this.#exact;
    const [raised, count] = [units * 10n ** BigInt(MEAN_DIGITS), BigInt(this.count)];
    const isApproximate = raised % count !== 0n;
    const half = raised < 0n ? -count : count;
    const rounded = (2n * raised + half) / (2n * count);
    return { text: canonical(written(rounded, scale + MEAN_DIGITS)), isApproximate };
  }
}

/** @param {number} number */
const short = (number) => canonical(Number(number.toPrecision(15)));

/** @param {bigint} units @param {number} scale digits behind the point */
function written(units, scale) {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  const at = digits.length - scale;
  return `${units < 0n ? '-' : ''}${digits.slice(0, at)}${scale ? `.${digits.slice(at)}` : ''}`;
}
