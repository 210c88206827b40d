// Two jobs of a namespace side by side: state, losses by step and by time, and what differs.

import { el, show } from './dom.js';
import { language, t } from './i18n.js';
import { Feed, getJson } from './net.js';
import { draw } from './progress.js';

const PERIOD_MS = 15000;
const jobHash = (...parts) => ['#/jobs', ...parts.map(encodeURIComponent)].join('/');

/** Where two jobs are compared; without `other` the page asks for it. */
export const compareHash = (namespace, name, other = '') => (
  ['#/compare', ...[namespace, name, other].filter(Boolean).map(encodeURIComponent)].join('/'));

export class CompareView {
  constructor(main, page, namespace, name, other) {
    Object.assign(this, { page, namespace, name, other, names: new Set(), isOpen: true });
    document.title = `${[name, other].filter(Boolean).join(' / ')} · PaddleJobs`;
    this.build(main);
    this.feed = new Feed('/api/jobs', (message) => this.know(message));
    this.load();
    this.clock = setInterval(() => document.hidden || this.load(), PERIOD_MS);
  }

  close() {
    this.isOpen = false;
    this.feed.close();
    clearInterval(this.clock);
  }

  find() {
    this.choice.focus();
  }

  build(main) {
    this.others = el('datalist', { id: 'others' });
    this.choice = el('input', {
      type: 'search', list: 'others', 'aria-label': t('compareWith'), placeholder: t('compareWith'), value: this.other || '',
      autocomplete: 'off', spellcheck: 'false',
      onchange: () => { if (this.choice.value) location.hash = compareHash(this.namespace, this.name, this.choice.value.trim()); },
    });
    this.tables = el('div', { class: 'tables' });
    this.pictures = el('div', { class: 'pictures' });
    show(main,
      el('a', { class: 'back', href: jobHash(this.namespace, this.name) }, `← ${this.name}`),
      el('h1', {}, t('compare')),
      el('div', { class: 'tools' }, this.choice, this.others), this.pictures, this.tables);
  }

  /** Offer the other jobs of the namespace. */
  know(message) {
    if (message.type !== 'jobs') return;
    for (const { namespace, name } of message.rows) if (namespace === this.namespace && name !== this.name) this.names.add(name);
    show(this.others, [...this.names].sort().map((name) => el('option', { value: name })));
  }

  async load() {
    if (!this.other) return;
    const path = `/api/jobs/${[this.namespace, this.name, 'beside', this.other].map(encodeURIComponent).join('/')}?lang=${language()}`;
    let compared;
    try {
      compared = await getJson(path);
    } catch (error) {
      if (this.isOpen) this.page.problem({ kind: error.kind || 'other', text: error.message }, () => this.load());
      return;
    }
    if (!this.isOpen) return;
    this.page.problem(null);
    this.draw(compared);
  }

  draw(compared) {
    const text = JSON.stringify(compared);
    if (text === this.drawn) return;
    this.drawn = text;
    const { names, rows, differences, curves } = compared;
    show(this.pictures, [['byStep', curves[0]], ['byTime', curves[1]]].map(([title, curve]) => curve && el('figure', {},
      el('figcaption', {}, t(title), names.map((name, at) => el('span', { class: `curve-${at}` }, name))), draw(curve))));
    show(this.tables, table(t('compare'), names, rows),
      el('h2', {}, t('differences')), differences.length ? table(t('differences'), names, differences) : el('p', { class: 'empty' }, t('noDifferences')));
  }
}

function table(label, names, rows) {
  const heads = names.map((name) => el('th', { scope: 'col' }, name));
  return el('table', { 'aria-label': label, class: 'small compared' },
    el('thead', {}, el('tr', {}, el('td'), heads)),
    el('tbody', {}, rows.map(([title, ...cells]) => el('tr', {},
      el('th', { scope: 'row' }, title), cells.map((cell) => el('td', {}, cell))))));
}
