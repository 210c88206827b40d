// Times and phases as people read them.

import { t } from './i18n.js';
import { el } from './dom.js';

const UNITS = [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]];
const GLYPHS = {
  Pending: '○', Starting: '◔', Running: '●', Restarting: '↻', Scaling: '⇅', Suspended: '‖',
  Completing: '◕', Completed: '✓', Failed: '✕', Terminating: '−', '': '·',
};

const FINE = new Set(['Running', 'Scaling', 'Completing', 'Completed']);

export const now = () => Date.now() / 1000;

/** `5s`, `3m12s`, `4h20m`, `12d`: with the next smaller unit if the number is below 10. */
export function duration(seconds) {
  let left = Math.max(0, Math.floor(seconds));
  for (let at = 0; at < UNITS.length; at += 1) {
    const [unit, size] = UNITS[at];
    const count = Math.floor(left / size);
    if (!count) continue;
    left -= count * size;
    const [smaller, step] = UNITS[at + 1] || ['', 1];
    const more = count < 10 && smaller && left >= step ? `${Math.floor(left / step)}${smaller}` : '';
    return `${count}${unit}${more}`;
  }
  return '0s';
}

/** How long something lasts or lasted. */
export const lasted = (start, end) => (start === null ? '–' : duration((end ?? now()) - start));

/** A moment in full, in the reader's zone. */
export function moment(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  const date = new Date(seconds * 1000);
  const two = (number) => String(number).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** An age that grows by itself: `tick` renews all of them. */
export function age(start, end = null) {
  const node = el('time', { class: 'age', title: moment(start) });
  if (start !== null) node.setAttribute('data-start', start);
  if (end !== null) node.setAttribute('data-end', end);
  node.textContent = lasted(start, end);
  return node;
}

/** Renew the ages on the page. */
export function tick() {
  for (const node of document.querySelectorAll('time[data-start]:not([data-end])')) {
    const text = lasted(Number(node.dataset.start), null);
    if (node.textContent !== text) node.textContent = text;
  }
}

/** A phase as a pill: a sign and a word, not only a colour. Trouble is seen in a phase that is fine, too. */
export function pill(phase, isTroubled = false) {
  const known = Object.hasOwn(GLYPHS, phase);
  const glyph = known ? GLYPHS[phase] : '?';
  const troubled = isTroubled && FINE.has(phase);
  return el('span', { class: `pill phase-${known ? phase || 'New' : 'Other'}${troubled ? ' troubled' : ''}` },
    el('span', { class: 'glyph', 'aria-hidden': 'true' }, troubled ? '!' : glyph),
    phaseName(phase));
}

/** A reason that the list has words for, in them; another as it is. */
export function reasonName(reason) {
  const word = t(`reason.${reason}`);
  return word === `reason.${reason}` ? reason : word;
}

/** The phase's name in the reader's language. */
export const phaseName = (phase) => (Object.hasOwn(GLYPHS, phase) ? t(`phase.${phase || 'New'}`) : phase);
