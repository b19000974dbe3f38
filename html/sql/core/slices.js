/**
 * Long work in short slices, so that the page answers to the person between them.
 * @module
 */

/** Longest stretch of work between two pauses, in milliseconds; a frame has 16, a long task begins at 50. */
const SLICE_MS = 10;

/** Lets the browser paint and take input, then goes on. Timers would be clamped to 4 ms and throttled in the background. @returns {Promise<void>} */
function pause() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

/** A stopwatch that says when a slice is used up. */
export class Slicer {
  #end;
  #signal;

  /** @param {AbortSignal} [signal] ends the work at its next pause */
  constructor(signal) {
    this.#signal = signal;
    this.#end = performance.now() + SLICE_MS;
  }

  /** True if it is time to `rest()`. */
  get due() {
    return performance.now() >= this.#end;
  }

  /** The moment at which this slice ends, on the clock of `performance.now()`. */
  get deadline() {
    return this.#end;
  }

  /** Pauses; throws the signal's reason where the work was called off. */
  async rest() {
    this.#signal?.throwIfAborted();
    await pause();
    this.#signal?.throwIfAborted();
    this.#end = performance.now() + SLICE_MS;
  }
}
