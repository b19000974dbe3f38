// The traffic of a connected application: rates from the differences of its counters.

/** Samples kept; at one every 5 s they cover five minutes. */
const KEPT = 60;
/** Two samples nearer than this, in ms, are one: a difference over less is noise. */
const MIN_GAP_MS = 1000;

/** A window over the counters of one connection. */
export class Traffic {
  /** @type {{received: number, sent: number, now: number}|null} */
  #last = null;
  /** Bytes a second in and out, oldest first. @type {{in: number, out: number}[]} */
  rates = [];

  /** Takes the counters as they are at `now`, in ms. Counters that went back belong to a new tunnel. @param {number} received @param {number} sent @param {number} now */
  add(received, sent, now) {
    const last = this.#last;
    const restarted = last && (received < last.received || sent < last.sent);
    if (last && !restarted) {
      const ms = now - last.now;
      if (ms < MIN_GAP_MS) return;
      const rate = { in: ((received - last.received) * 1000) / ms, out: ((sent - last.sent) * 1000) / ms };
      this.rates = [...this.rates, rate].slice(-KEPT);
    }
    this.#last = { received, sent, now };
  }

  /** The latest rates; null before there are two samples. @returns {{in: number, out: number}|null} */
  get current() {
    return this.rates[this.rates.length - 1] ?? null;
  }

  /** The line of both directions together, as the `d` of an SVG path in a box; flat while nothing flows. @param {number} width @param {number} height */
  path(width, height) {
    const sums = this.rates.map((rate) => rate.in + rate.out);
    const most = Math.max(...sums, 1);
    const step = width / (KEPT - 1);
    const from = width - (sums.length - 1) * step;
    const y = (sum) => (height - 1 - (sum / most) * (height - 2)).toFixed(1);
    if (!sums.length) return `M0 ${height - 1}H${width}`;
    return `M0 ${height - 1}H${from.toFixed(1)}${sums.map((sum, i) => `L${(from + i * step).toFixed(1)} ${y(sum)}`).join('')}`;
  }
}
