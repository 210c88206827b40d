// The list of jobs: live, filtered, sorted.

import { el, setText, show } from './dom.js';
import { age, pill, phaseName, reasonName, tick } from './format.js';
import { t } from './i18n.js';
import { Feed } from './net.js';

const MAX_ROWS = 2000;
const ORDER = ['Failed', 'Restarting', 'Pending', 'Starting', 'Scaling', 'Running', 'Completing', 'Suspended', 'Terminating', 'Completed', ''];
const COLUMNS = [
  ['name', (a, b) => a.name.localeCompare(b.name) || a.namespace.localeCompare(b.namespace)],
  ['phase', (a, b) => ORDER.indexOf(a.phase) - ORDER.indexOf(b.phase) || b.created - a.created],
  ['progress', (a, b) => (b.percent ?? -1) - (a.percent ?? -1) || (b.step ?? -1) - (a.step ?? -1)],
  ['pods', null],
  ['accelerators', (a, b) => b.accelerators - a.accelerators || b.created - a.created],
  ['restarts', (a, b) => b.restarts - a.restarts || b.created - a.created],
  ['why', null],
  ['by', (a, b) => !a.by - !b.by || a.by.localeCompare(b.by) || b.created - a.created],
  ['age', (a, b) => b.created - a.created || a.name.localeCompare(b.name)],
];
/** Columns that are left out where no job has anything to show in them. */
const HAS = { progress: (row) => row.step !== null, accelerators: (row) => row.accelerators, by: (row) => row.by };
const START = { text: '', phase: '', namespace: '', mine: '', sort: 'age', turned: '' };

/** How far the training is: a bar of the cell's own, and a number. */
function drawProgress({ percent, step, totalSteps }) {
  const node = el('td', { class: 'col-progress' });
  if (step === null) return node;
  const number = (value) => value.toLocaleString('en');
  node.textContent = percent === null ? t('stepNumber', number(step)) : `${percent}%`;
  node.title = t('stepNumber', number(step)) + (totalSteps === null ? '' : ` / ${number(totalSteps)}`);
  if (percent !== null) node.style.setProperty('--done', `${Math.min(percent, 100)}%`);
  return node;
}

export class ListView {
  /** `query`: what the address chooses; without it the list is as it was left. */
  constructor(main, page, query) {
    this.page = page;
    const asked = new URLSearchParams(query);
    this.chosen = query ? { ...START } : { ...START, ...page.list };
    for (const name of Object.keys(START)) this.chosen[name] = asked.get(name) ?? this.chosen[name];
    if (!COLUMNS.some(([name, compare]) => compare && name === this.chosen.sort)) this.chosen.sort = START.sort;
    this.rows = new Map();
    this.nodes = new Map();
    this.isLoaded = false;
    this.hasNamespaces = !page.about.namespace;
    document.title = 'PaddleJobs';
    this.build(main);
    this.writeAddress();
    this.feed = new Feed('/api/jobs', (message) => this.take(message));
  }

  state() {
    return this.chosen;
  }

  /** Whether this view shows what the query chooses. */
  is(query) {
    return query === this.query();
  }

  query() {
    return new URLSearchParams(Object.entries(this.chosen).filter(([name, value]) => value !== START[name])).toString();
  }

  /** The address is a link to what is shown. */
  writeAddress() {
    const query = this.query();
    if (query || location.hash) history.replaceState(null, '', query ? `#/?${query}` : '#/');
  }

  close() {
    this.feed.close();
    cancelAnimationFrame(this.frame);
  }

  find() {
    this.search.focus();
  }

  build(main) {
    this.search = el('input', {
      type: 'search', placeholder: t('search'), 'aria-label': t('search'), 'aria-keyshortcuts': '/',
      autocomplete: 'off', spellcheck: 'false',
      oninput: () => this.choose({ text: this.search.value }),
    });
    this.search.value = this.chosen.text;
    this.namespaces = el('select', {
      'aria-label': t('namespace'), onchange: () => this.choose({ namespace: this.namespaces.value }),
    });
    this.mine = el('button', {
      type: 'button', class: 'chip', hidden: true, onclick: () => this.choose({ mine: this.chosen.mine ? '' : '1' }),
    }, t('mine'));
    this.phases = el('div', { class: 'chips', role: 'group', 'aria-label': t('phase') });
    this.body = el('tbody');
    this.heads = el('tr');
    this.table = el('table', { class: 'jobs', 'aria-label': t('jobs') }, el('thead', {}, this.heads), this.body);
    this.empty = el('div', { class: 'empty', role: 'status' }, t('loading'));
    this.more = el('p', { class: 'more' });
    show(main,
      el('h1', { class: 'hidden' }, t('jobs')),
      el('div', { class: 'tools' }, this.search, this.hasNamespaces && this.namespaces, this.mine, this.phases),
      this.table, this.more, this.empty);
    this.table.hidden = true;
    this.drawHeads();
  }

  choose(change) {
    Object.assign(this.chosen, change);
    this.writeAddress();
    this.draw();
  }

  take(message) {
    if (message.type === 'jobs') {
      if (message.first) this.rows.clear();
      for (const row of message.rows) this.rows.set(row.uid, row);
      for (const uid of message.gone) this.rows.delete(uid);
      this.isLoaded = true;
      this.page.problem(null);
      this.draw();
    } else if (message.type === 'fine') {
      this.page.problem(null);
    } else if (message.type === 'problem') {
      const isHopeless = !['unreachable', 'ended', 'session'].includes(message.kind);
      this.page.problem(message, isHopeless ? () => this.feed.again() : null);
      if (!this.isLoaded) show(this.empty);
    }
  }

  drawHeads() {
    show(this.heads, COLUMNS.map(([name, compare]) => {
      const isSorted = this.chosen.sort === name;
      const order = this.chosen.turned ? 'descending' : 'ascending';
      return el('th', { scope: 'col', class: `col-${name}`, 'aria-sort': isSorted && order },
        compare ? el('button', { type: 'button', class: 'sort', onclick: () => this.sort(name) },
          t(`column.${name}`), el('span', { 'aria-hidden': 'true' }, isSorted ? (this.chosen.turned ? ' ↑' : ' ↓') : ''))
          : t(`column.${name}`));
    }));
  }

  sort(name) {
    this.choose({ sort: name, turned: this.chosen.sort === name && !this.chosen.turned ? '1' : '' });
    this.drawHeads();
    this.heads.querySelector(`.col-${name} button`).focus();
  }

  matches(row) {
    const { text, phase, namespace, mine } = this.chosen;
    if (mine && (!row.by || row.by !== this.page.me)) return false;
    if (phase && (row.phase || 'New') !== phase) return false;
    if (namespace && row.namespace !== namespace) return false;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return true;
    const all = `${row.namespace}/${row.name} ${row.phase} ${row.mode} ${row.reason} ${row.message} ${row.by}`.toLowerCase();
    return words.every((word) => all.includes(word));
  }

  draw() {
    const all = [...this.rows.values()];
    const compare = COLUMNS.find(([name]) => name === this.chosen.sort)[1];
    const found = all.filter((row) => this.matches(row)).sort(compare);
    if (this.chosen.turned) found.reverse();
    const shown = found.slice(0, MAX_ROWS);
    this.drawPhases(all);
    this.mine.hidden = !this.page.me && !this.chosen.mine;
    this.mine.setAttribute('aria-pressed', String(Boolean(this.chosen.mine)));
    if (this.hasNamespaces) this.drawNamespaces(all);
    this.place(shown);
    for (const [name, has] of Object.entries(HAS)) this.table.classList.toggle(`no-${name}`, !shown.some(has));
    this.table.hidden = !shown.length;
    setText(this.more, found.length > shown.length ? t('more', found.length - shown.length) : '');
    this.drawEmpty(all.length, found.length);
    tick();
  }

  /** Put the rows in order; move only those that are in the wrong place. */
  place(shown) {
    const wanted = new Set(shown.map((row) => row.uid));
    for (const [uid, held] of this.nodes) {
      if (!wanted.has(uid)) {
        held.node.remove();
        this.nodes.delete(uid);
      }
    }
    let at = this.body.firstChild;
    for (const row of shown) {
      let held = this.nodes.get(row.uid);
      if (!held || held.row !== row) {
        const node = this.drawRow(row);
        if (held) {
          const hadFocus = held.node.contains(document.activeElement);
          if (at === held.node) at = node;
          held.node.replaceWith(node);
          if (hadFocus) node.querySelector('a').focus();
        }
        held = { row, node };
        this.nodes.set(row.uid, held);
      }
      if (held.node === at) at = at.nextSibling;
      else this.body.insertBefore(held.node, at);
    }
  }

  drawRow(row) {
    const ready = Object.entries(row.ready).map(([role, count]) => `${role} ${count}`).join('  ');
    return el('tr', {},
      el('th', { scope: 'row', class: 'col-name' },
        el('a', { href: `#/jobs/${encodeURIComponent(row.namespace)}/${encodeURIComponent(row.name)}` },
          this.hasNamespaces && el('span', { class: 'namespace' }, `${row.namespace}/`), row.name)),
      el('td', { class: 'col-phase' }, pill(row.phase, row.warns)),
      drawProgress(row),
      el('td', { class: 'col-pods' }, ready),
      el('td', { class: 'col-accelerators' }, row.accelerators ? String(row.accelerators) : ''),
      el('td', { class: 'col-restarts' }, row.restarts ? String(row.restarts) : ''),
      el('td', { class: 'col-why', title: row.message },
        row.reason && el('span', { class: row.warns ? 'reason warning' : 'reason', title: row.reason }, reasonName(row.reason)), ' ',
        row.cause && el('span', { class: 'error' }, row.cause), row.cause ? ' · ' : '', row.message),
      el('td', { class: 'col-by', title: row.by }, row.by),
      el('td', { class: 'col-age' }, age(row.created)));
  }

  drawPhases(all) {
    const counts = new Map();
    for (const row of all) counts.set(row.phase, (counts.get(row.phase) || 0) + 1);
    const phases = [...counts.keys()].sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
    const text = JSON.stringify([[...counts], this.chosen.phase, phases]);
    if (text === this.phasesText) return;
    this.phasesText = text;
    const focused = document.activeElement?.dataset?.phase;
    const chip = (phase, label, count) => el('button', {
      type: 'button', class: `chip phase-${phase || 'All'}`, 'data-phase': phase,
      'aria-pressed': String(this.chosen.phase === phase),
      onclick: () => this.choose({ phase: this.chosen.phase === phase ? '' : phase }),
    }, label, el('span', { class: 'count' }, String(count)));
    show(this.phases, chip('', t('all'), all.length),
      phases.map((phase) => chip(phase || 'New', phaseName(phase), counts.get(phase))));
    if (focused !== undefined) this.phases.querySelector(`[data-phase="${CSS.escape(focused)}"]`)?.focus();
  }

  drawNamespaces(all) {
    const names = [...new Set(all.map((row) => row.namespace))].sort();
    const text = names.join(' ');
    if (text === this.namespacesText) return;
    this.namespacesText = text;
    show(this.namespaces, el('option', { value: '' }, t('allNamespaces')),
      names.map((name) => el('option', { value: name }, name)));
    this.namespaces.value = this.chosen.namespace;
  }

  drawEmpty(count, found) {
    if (found || !this.isLoaded) {
      show(this.empty);
    } else if (count) {
      show(this.empty, el('p', {}, t('noMatch')), el('button', {
        type: 'button', onclick: () => { this.search.value = ''; this.namespaces.value = ''; this.choose({ text: '', phase: '', namespace: '', mine: '' }); },
      }, t('clear')));
    } else {
      const { namespace } = this.page.about;
      show(this.empty, el('p', {}, namespace ? t('noJobsIn', namespace) : t('noJobs')),
        el('p', {}, t('submitOne')), el('pre', {}, 'kubectl pdj submit job.yaml\nkubectl pdj run IMAGE --workers 2 -- python train.py'));
    }
  }
}
