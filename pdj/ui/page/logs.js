// The log of all pods, which follows new lines. Lines are shown as text, never as HTML.

import { el, setText, show } from './dom.js';
import { t } from './i18n.js';
import { Feed } from './net.js';

const MAX_LINES = 5000;
const COLOURS = 6;

export class LogView {
  constructor(node, path, job, page) {
    this.path = path;
    this.job = job;
    this.page = page;
    this.pods = '';
    this.isFollowing = true;
    this.build(node);
    this.open('');
  }

  close() {
    this.feed.close();
  }

  find() {
    this.search.focus();
  }

  build(node) {
    this.choice = el('select', { 'aria-label': t('tab.pods'), onchange: () => this.open(this.choice.value) });
    show(this.choice, el('option', { value: '' }, t('allPods')));
    this.search = el('input', {
      type: 'search', placeholder: t('searchLog'), 'aria-label': t('searchLog'), autocomplete: 'off', spellcheck: 'false',
      oninput: () => this.filter(),
    });
    this.followBox = el('input', { type: 'checkbox', checked: true, onchange: () => this.follow(this.followBox.checked) });
    const wrap = el('input', { type: 'checkbox', checked: true, onchange: () => this.lines.classList.toggle('wrap', wrap.checked) });
    this.lines = el('div', {
      class: 'log wrap', role: 'log', 'aria-label': t('log'), 'aria-live': 'off', tabindex: 0,
      onscroll: () => this.scrolled(),
    });
    this.note = el('p', { class: 'lognote', role: 'status' });
    show(node,
      el('div', { class: 'tools' }, this.choice, this.search,
        el('label', { class: 'check' }, this.followBox, t('follow')),
        el('label', { class: 'check' }, wrap, t('wrap'))),
      this.lines, this.note);
  }

  /** Offer these pods for choice. */
  know(pods) {
    const names = [...new Set(pods.map((pod) => `${pod.role}/${pod.index}`))];
    if (names.join() === this.pods) return;
    this.pods = names.join();
    const chosen = this.choice.value;
    const all = names.includes(chosen) || !chosen ? names : [...names, chosen];
    show(this.choice, el('option', { value: '' }, t('allPods')),
      all.map((name) => el('option', { value: name }, name.replace('/', '-'))));
    this.choice.value = chosen;
  }

  open(which) {
    this.feed?.close();
    const [role = '', index = ''] = which.split('/');
    const query = new URLSearchParams({ role, index, settings: this.hasSettings ? '1' : '' });
    this.clear();
    this.feed = new Feed(`${this.path}/log?${query}`, (message) => this.take(message));
  }

  clear() {
    show(this.lines);
    this.count = 0;
    setText(this.note, t('logWaits'));
  }

  take(message) {
    if (message.type === 'opened') {
      this.clear();
    } else if (message.type === 'lines') {
      this.add(message.lines);
    } else if (message.type === 'end') {
      setText(this.note, t(message.empty ? 'logGone' : 'logEnd'));
    } else if (message.type === 'problem' && message.kind !== 'ended' && message.kind !== 'session') {
      const known = ['forbidden', 'login', 'unreachable'].includes(message.kind) ? `${t(`problem.${message.kind}`)} ` : '';
      setText(this.note, known + message.text);
    }
  }

  add(lines) {
    const kept = lines.slice(-MAX_LINES);
    this.lines.append(...kept.map((line) => this.draw(line)));
    this.count += lines.length;
    while (this.lines.childElementCount > MAX_LINES) this.lines.firstChild.remove();
    setText(this.note, this.count > MAX_LINES ? t('logDropped') : t('lines', this.count));
    if (this.isFollowing) this.lines.scrollTop = this.lines.scrollHeight;
  }

  draw([pod, attempt, time, text, isFold]) {
    const name = pod.startsWith(`${this.job}-`) ? pod.slice(this.job.length + 1) : pod;
    const index = Number(name.split('-').at(-1)) || 0;
    const node = el('div', { class: 'line', title: time },
      el('span', { class: `who pod-${(index + name.length) % COLOURS}` }, attempt > 1 ? `${name}#${attempt}` : name),
      el('span', { class: 'text' }, isFold ? el('button', {
        type: 'button', class: 'fold', onclick: () => { this.hasSettings = true; this.open(this.choice.value); this.lines.focus(); },
      }, t('launcherSettings')) : text));
    node.hidden = !this.matches(node);
    return node;
  }

  matches(node) {
    const wanted = this.search.value.toLowerCase();
    return !wanted || node.lastChild.textContent.toLowerCase().includes(wanted);
  }

  filter() {
    for (const node of this.lines.children) node.hidden = !this.matches(node);
    if (this.isFollowing) this.lines.scrollTop = this.lines.scrollHeight;
  }

  /** A user who has scrolled up is reading: new lines must not scroll the view. */
  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.lines;
    this.isFollowing = scrollTop + clientHeight >= scrollHeight - 24;
    this.followBox.checked = this.isFollowing;
  }

  follow(value) {
    this.isFollowing = value;
    if (value) this.lines.scrollTop = this.lines.scrollHeight;
  }
}
