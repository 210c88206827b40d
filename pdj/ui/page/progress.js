// How far the training is: a bar, the words of the server, and the loss since the page was opened.

import { el, show, svg } from './dom.js';
import { t } from './i18n.js';

const MAX_POINTS = 400;
const WIDTH = 160;
const HEIGHT = 32;

/** The losses of one attempt by step; cleared if the attempt changes or the step falls. */
export class Losses {
  constructor() {
    this.points = [];
  }

  add(training, attempt) {
    const { step, loss } = training;
    const last = this.points.at(-1);
    if (attempt !== this.attempt || (last && step !== null && step < last[0])) this.points = [];
    this.attempt = attempt;
    if (step === null || loss === null || step === this.points.at(-1)?.[0]) return;
    this.points.push([step, loss]);
    if (this.points.length > MAX_POINTS) this.points = this.points.filter((_, at) => at % 2 === 0);
  }

  draw() {
    if (this.points.length < 2) return null;
    const [steps, losses] = [0, 1].map((at) => this.points.map((point) => point[at]));
    const place = (value, all, size) => 2 + ((value - Math.min(...all)) / (Math.max(...all) - Math.min(...all) || 1)) * (size - 4);
    const line = this.points.map(([step, loss]) => `${place(step, steps, WIDTH)},${HEIGHT - place(loss, losses, HEIGHT)}`);
    const label = t('lossOf', losses[0], losses.at(-1));
    return svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: 'img', 'aria-label': label },
      svg('title', {}, label), svg('polyline', { points: line.join(' ') }));
  }
}

/** Draw the training into `node`, which is hidden if there is none. */
export function drawTraining(node, training, losses) {
  node.hidden = !training;
  if (!training) return;
  show(node,
    training.percent !== null && el('progress', { max: 100, value: training.percent, 'aria-label': t('training') }),
    el('p', {}, training.parts.map((part) => el('span', {}, part))), losses.draw());
}
