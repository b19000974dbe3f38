/**
 * A chart as a picture.
 * @module
 */

import { svg } from '../../common/dom.js';
import { fileName, saveBlob } from './download.js';

/** Pixels of the picture for one of the screen. */
const SCALE = 2;

/** Height of the line with the names of the series. */
const LEGEND = 28;

/** Styles of each part of a drawing: a picture has no style sheet. */
const STYLES = ['fill', 'stroke', 'stroke-width', 'stroke-linejoin', 'font-family', 'font-size', 'text-anchor', 'visibility'];

/**
 * Saves a drawing as a PNG, on the ground of the page, with the names of its series above.
 * @param {SVGSVGElement} drawing
 * @param {string[]} names of the series
 * @param {HTMLElement} ground whose colours and font are taken
 */
export async function savePicture(drawing, names, ground) {
  const [width, height] = [drawing.clientWidth, drawing.clientHeight];
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(withStyles(drawing))], { type: 'image/svg+xml' }));
  try {
    const image = new Image(width * SCALE, height * SCALE);
    image.src = url;
    await image.decode();
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [width * SCALE, (height + LEGEND) * SCALE];
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    context.scale(SCALE, SCALE);
    drawGround(context, names, ground, width, height + LEGEND);
    context.drawImage(image, 0, LEGEND, width, height);
    const blob = await new Promise((done) => canvas.toBlob(done, 'image/png'));
    if (blob) saveBlob(blob, fileName('chart', 'png'));
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** A copy that looks the same without a style sheet. */
function withStyles(drawing) {
  const copy = /** @type {SVGSVGElement} */ (drawing.cloneNode(true));
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  const parts = [...copy.querySelectorAll('*')];
  drawing.querySelectorAll('*').forEach((part, i) => {
    const style = getComputedStyle(part);
    for (const name of STYLES) parts[i].setAttribute(name, style.getPropertyValue(name));
  });
  return copy;
}

function drawGround(context, names, ground, width, height) {
  const style = getComputedStyle(ground);
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, width, height);
  context.font = `12px ${style.fontFamily}`;
  let x = 16;
  names.forEach((name, i) => {
    const swatch = svg('g', { class: `series-${i}`, fill: 'var(--series)' });
    ground.querySelector('svg')?.append(swatch);
    context.fillStyle = getComputedStyle(swatch).fill;
    swatch.remove();
    context.fillRect(x, 10, 10, 10);
    context.fillStyle = style.color;
    context.fillText(name, x + 16, 19);
    x += context.measureText(name).width + 36;
  });
}
