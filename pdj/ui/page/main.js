// The page: the view that the address names, the language, the colours, and problems.

import { el, setText, show } from './dom.js';
import { tick } from './format.js';
import { language, setLanguage, t } from './i18n.js';
import { getJson } from './net.js';
import { CompareView } from './compare.js';
import { JobView } from './job.js';
import { ListView } from './list.js';

const THEMES = ['auto', 'light', 'dark'];
const main = document.getElementById('main');
const notice = document.getElementById('notice');
const page = { about: { context: '', server: '', namespace: '', language: 'en' }, problem };
let view = null;
let theme = 'auto';
let again = () => {};

function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch { /* no storage in this browser */ }
}

function setTheme(value) {
  theme = THEMES.includes(value) ? value : 'auto';
  document.documentElement.dataset.theme = theme;
}

/** Show a problem, or remove it. `retry` is offered if waiting does not solve the problem. */
function problem(message, retry = null) {
  again = retry || again;
  if (!message) {
    show(notice);
    return;
  }
  const known = t(`problem.${message.kind}`);
  show(notice, el('div', { class: `notice ${message.kind === 'unreachable' ? 'wait' : 'bad'}` },
    el('strong', {}, known), message.text && el('span', { class: 'said' }, message.text),
    retry && el('button', { type: 'button', onclick: () => again() }, t('again'))));
}

function drawTop() {
  const { context, server, namespace } = page.about;
  const where = context ? `${context} · ${namespace || t('allNamespaces')}` : server;
  show(document.getElementById('top'),
    el('a', { class: 'brand', href: '#/' }, el('img', { src: '/assets/icon.svg', alt: '', width: 22, height: 22 }), 'PaddleJobs'),
    el('span', { class: 'where', title: server }, where),
    el('span', { class: 'grow' }),
    el('button', {
      type: 'button', class: 'quiet', id: 'language', lang: language() === 'zh' ? 'en' : 'zh',
      'aria-label': language() === 'zh' ? 'English' : '中文',
      onclick: () => { choose(language() === 'zh' ? 'en' : 'zh'); document.getElementById('language').focus(); },
    }, language() === 'zh' ? 'English' : '中文'),
    el('button', {
      type: 'button', class: 'quiet', id: 'theme', onclick: () => {
        setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
        keep('theme', theme);
        drawTop();
        document.getElementById('theme').focus();
      },
    }, `${{ auto: '◐', light: '☀', dark: '☾' }[theme]} ${t(`theme.${theme}`)}`));
  setText(document.getElementById('skip'), t('skip'));
}

function choose(value) {
  setLanguage(value);
  keep('language', value);
  document.documentElement.lang = value === 'zh' ? 'zh-CN' : 'en';
  drawTop();
  route(true);
}

/** A decoded part of the address; unchanged if it cannot be decoded. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function route(isForced = false) {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?', 2);
  const parts = path.split('/').filter(Boolean).map(decoded);
  const [kind, namespace, name, tab] = parts;
  const isJob = kind === 'jobs' && namespace && name;
  const isCompare = kind === 'compare' && namespace && name;
  if (!isForced && isJob && view instanceof JobView && view.is(namespace, name)) {
    view.open(tab);
    return;
  }
  if (!isForced && !isJob && !isCompare && view instanceof ListView && view.is(query)) return;
  if (view && !isForced) window.scrollTo(0, 0);
  const wasList = view instanceof ListView ? view.state() : page.list;
  view?.close();
  page.list = wasList;
  problem(null, null);
  if (isJob) view = new JobView(main, page, namespace, name, tab);
  else if (isCompare) view = new CompareView(main, page, namespace, name, tab);
  else view = new ListView(main, page, query);
  if (!isForced) main.focus({ preventScroll: true });
}

function shortcut(event) {
  const isTyping = event.target.closest('input, select, textarea, dialog');
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  if (event.key === '/' && view.find) {
    event.preventDefault();
    view.find();
  } else if (event.key === 'Escape' && !(view instanceof ListView)) {
    location.hash = '#/';
  }
}

async function begin() {
  setTheme(kept('theme') || 'auto');
  try {
    page.about = await getJson('/api/about');
  } catch (error) {
    problem({ kind: error.kind || 'other', text: error.message });
  }
  window.addEventListener('hashchange', () => route());
  document.addEventListener('keydown', shortcut);
  document.getElementById('skip').addEventListener('click', (event) => {
    event.preventDefault();
    main.focus();
  });
  setInterval(tick, 1000);
  getJson('/api/me').then(({ name }) => {
    page.me = name;
    if (view instanceof ListView) view.draw();
  }, () => {});
  const wanted = kept('language') || (navigator.language.startsWith('zh') ? 'zh' : page.about.language);
  choose(wanted === 'zh' ? 'zh' : 'en');
}

begin();
