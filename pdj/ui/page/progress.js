// How far the training is: a bar, the words of the server, and the curve of the loss.

import { el, show, svg } from './dom.js';
import { t } from './i18n.js';

/** The server's picture. */
export const draw = (node) => (typeof node === 'string' ? node : svg(node[0], node[1], node.slice(2).map(draw)));

/** Draw the training into `node`, which is hidden if there is none. */
export function drawTraining(node, training) {
  node.hidden = !training;
  if (!training) return;
  show(node,
    training.percent !== null && el('progress', { max: 100, value: training.percent, 'aria-label': t('training') }),
    el('p', {}, training.parts.map((part) => el('span', {}, part))), training.curve && draw(training.curve));
}
