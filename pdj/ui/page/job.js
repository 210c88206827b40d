// One job: the reasons for its state, its timeline, and tabs with everything else.

import { drawActions } from './actions.js';
import { compareHash } from './compare.js';
import { el, setText, show, words } from './dom.js';
import { age, moment, pill } from './format.js';
import { language, t } from './i18n.js';
import { LogView } from './logs.js';
import { Feed, getJson, getText } from './net.js';
import { drawTraining } from './progress.js';
import { drawTimeline } from './timeline.js';

const SAID_MS = 6000;
const TABS = ['logs', 'pods', 'failures', 'events', 'conditions', 'yaml'];

export class JobView {
  constructor(main, page, namespace, name, tab) {
    this.page = page;
    this.namespace = namespace;
    this.name = name;
    this.path = `/api/jobs/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
    this.hash = `#/jobs/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
    this.job = null;
    this.rights = {};
    this.logs = null;
    this.tab = '';
    document.title = `${name} · PaddleJobs`;
    this.build(main);
    this.open(tab);
    this.feed = new Feed(`${this.path}?lang=${language()}`, (message) => this.take(message));
    this.resized = new ResizeObserver(() => this.job && this.drawPicture());
    this.resized.observe(this.picture);
    this.clock = setInterval(() => this.job && !this.job.timeline.end && this.drawPicture(), 5000);
  }

  is(namespace, name) {
    return this.namespace === namespace && this.name === name;
  }

  close() {
    this.feed.close();
    this.logs?.close();
    this.resized.disconnect();
    clearInterval(this.clock);
  }

  find() {
    this.logs?.find();
  }

  again() {
    this.feed.again();
    this.logs?.feed.again();
  }

  build(main) {
    this.head = el('div', { class: 'facts' });
    this.pill = el('span');
    this.actions = el('div', { class: 'actions', role: 'group', 'aria-label': t('actions') });
    this.state = el('div', { role: 'status' });
    this.why = el('section', { class: 'why', 'aria-label': t('why') }, el('p', {}, t('loading')));
    this.picture = el('div', { class: 'picture' });
    this.training = el('section', { class: 'training', 'aria-label': t('training'), hidden: true });
    this.tabs = el('div', { class: 'tabs', role: 'tablist', onkeydown: (event) => this.move(event) },
      TABS.map((name) => el('button', {
        type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': 'panel', onclick: () => { location.hash = `${this.hash}/${name}`; },
      }, t(`tab.${name}`), el('span', { class: 'count' }))));
    this.panel = el('div', { class: 'panel', role: 'tabpanel', id: 'panel', tabindex: -1 });
    show(main,
      el('a', { class: 'back', href: '#/' }, `← ${t('back')}`),
      el('div', { class: 'title' }, el('h1', {}, this.name), this.pill, el('span', { class: 'grow' }),
        el('a', { class: 'button', href: compareHash(this.namespace, this.name) }, t('compareWith')), this.actions),
      this.head, this.state, this.why, this.training,
      el('section', { class: 'timeline' }, el('h2', {}, t('timeline')), this.picture),
      this.tabs, this.panel);
  }

  move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = TABS[(TABS.indexOf(this.tab) + step + TABS.length) % TABS.length];
    location.hash = `${this.hash}/${next}`;
    document.getElementById(`tab-${next}`).focus();
  }

  /** Show a tab. */
  open(wanted) {
    const name = TABS.includes(wanted) ? wanted : 'logs';
    if (name === this.tab) return;
    this.tab = name;
    this.logs?.close();
    this.logs = null;
    for (const each of TABS) {
      const tab = document.getElementById(`tab-${each}`);
      tab.setAttribute('aria-selected', String(each === name));
      tab.tabIndex = each === name ? 0 : -1;
    }
    this.panel.setAttribute('aria-labelledby', `tab-${name}`);
    this.drawn = null;
    show(this.panel, el('p', {}, t('loading')));
    if (name === 'logs') this.logs = new LogView(this.panel, this.path, this.name, this.page);
    if (this.job) this.drawPanel();
  }

  take(message) {
    if (message.type === 'job') {
      const isOther = this.job?.row.uid !== message.row.uid;
      this.job = message;
      this.page.problem(null);
      if (this.isMissing) show(this.state);
      this.isMissing = false;
      this.draw();
      if (isOther || !this.asked) this.ask();
    } else if (message.type === 'missing') {
      this.isMissing = true;
      show(this.state, el('p', { class: 'notice wait' }, t(this.job ? 'deleted' : 'missing')));
      show(this.actions);
      if (!this.job) show(this.why);
    } else if (message.type === 'fine') {
      this.page.problem(null);
    } else if (message.type === 'problem') {
      const isHopeless = !['unreachable', 'ended', 'session'].includes(message.kind);
      this.page.problem(message, isHopeless ? () => this.again() : null);
      if (!this.job) show(this.why);
    }
  }

  /** Ask for the user's rights: once for each job, because rights seldom change. */
  async ask() {
    this.asked = true;
    try {
      this.rights = await getJson(`${this.path}/rights`);
    } catch {
      this.rights = {};
      this.asked = false;
    }
    this.drawHead();
  }

  draw() {
    this.drawHead();
    this.drawWhy();
    drawTraining(this.training, this.job.training);
    this.drawPicture();
    this.drawPanel();
  }

  drawHead() {
    const { row, attempt } = this.job;
    show(this.pill, pill(row.phase));
    const goesOn = ['Pending', 'Starting'].includes(row.phase) ? 'waits' : 'runs';
    const parts = [row.namespace, row.mode, attempt > 1 && t('attempt', attempt)].filter(Boolean);
    show(this.head, el('span', {}, parts.join(' · ')),
      el('span', {}, `${t('created')} ${moment(row.created)} · `, age(row.created)),
      row.started !== null && el('span', {}, `${t(row.ended === null ? goesOn : 'ran')} `, age(row.started, row.ended)));
    drawActions(this.actions, this.job, this.rights, this.path, (text) => this.did(text));
  }

  /** Show for some seconds that an action is done, unless the feed has reported that the job is gone. */
  did(text) {
    if (this.isMissing) return;
    const said = el('p', { class: 'notice good' }, text);
    show(this.state, said);
    setTimeout(() => said.remove(), SAID_MS);
  }

  drawWhy() {
    const { whys, facts } = this.job;
    const text = JSON.stringify([whys, facts]);
    if (text === this.whyText) return;
    this.whyText = text;
    show(this.why,
      whys.map((why) => el('div', { class: 'reason-block' },
        el('p', { class: 'cause' }, words(why.cause)),
        el('p', { class: 'since' }, why.reason && el('code', { class: ['user', 'administrator'].includes(why.actor) && 'warning' }, why.reason),
          why.since !== null && el('span', {}, `${t('since')} `, age(why.since)),
        ),
        why.message && el('p', { class: 'told' }, el('span', { class: 'label' }, t('said')), el('span', { class: 'message' }, why.message)),
        el('p', { class: 'told' }, el('span', { class: 'label' }, t('next')), el('span', {}, words(why.next))),
        el('p', { class: 'told' }, el('span', { class: 'label' }, t('who')), el('span', {}, why.who)))),
      Object.entries(facts).map(([name, lines]) => el('div', { class: 'around' }, el('h2', {}, t(name)),
        el('ul', {}, lines.map((line) => el('li', {}, line))))));
  }

  drawPicture() {
    drawTimeline(this.picture, this.job.timeline, this.name);
  }

  drawPanel() {
    const { job } = this;
    const counts = { pods: job.pods.length + job.morePods, failures: job.failures.length, events: job.events.length };
    for (const [name, count] of Object.entries(counts)) {
      setText(document.getElementById(`tab-${name}`).lastChild, count ? String(count) : '');
    }
    if (this.tab === 'logs') {
      this.logs.know(job.pods);
      return;
    }
    const text = JSON.stringify([this.tab, job[this.tab], this.tab === 'yaml' && job.row]);
    if (text === this.drawn) return;
    this.drawn = text;
    if (this.tab === 'yaml') this.drawYaml();
    else show(this.panel, { pods: drawPods, failures: drawFailures, events: drawEvents, conditions: drawConditions }[this.tab](job));
  }

  async drawYaml() {
    let text;
    try {
      text = await getText(`${this.path}/yaml`);
    } catch (error) {
      text = error.message;
    }
    if (this.tab === 'yaml') show(this.panel, el('pre', { class: 'yaml', tabindex: 0 }, text));
  }
}

function table(label, columns, rows) {
  return el('table', { 'aria-label': label, class: 'small' },
    el('thead', {}, el('tr', {}, columns.map((name) => el('th', { scope: 'col' }, t(`column.${name}`))))),
    el('tbody', {}, rows.map((cells) => el('tr', {}, cells.map((cell) => el('td', {}, cell))))));
}

function drawPods(job) {
  if (job.podsProblem) return el('p', { class: 'empty' }, `${t('podsHidden')}: ${job.podsProblem}`);
  if (!job.pods.length) return el('p', { class: 'empty' }, t('noPods'));
  return [
    ...job.roles.map((role) => el('div', { class: 'role' },
      el('h2', {}, role.role, el('span', { class: 'count' }, `${role.running + role.done}/${role.wanted}`)),
      table(role.role, ['name', 'state', 'node', 'restarts', 'attempt', 'age'],
        job.pods.filter((pod) => pod.role === role.role).map((pod) => [
          pod.name, el('span', { class: `podstate ${pod.is_running ? 'good' : ''}` }, pod.state), pod.node || '–',
          String(pod.restarts), String(pod.attempt), age(pod.created_at)])))),
    job.morePods ? el('p', { class: 'more' }, t('morePods', job.morePods)) : null,
  ];
}

function drawFailures(job) {
  if (!job.failures.length) return el('p', { class: 'empty' }, t('noFailures'));
  return job.failures.map((each) => el('article', { class: 'failure' },
    el('h2', {}, t('attempt', each.attempt), el('span', { class: 'reason' }, each.text)),
    el('p', { class: 'since' }, moment(each.time), ' · ', age(each.time), each.node && ` · ${each.node}`),
    each.message && el('pre', { tabindex: 0 }, each.message)));
}

function drawEvents(job) {
  if (!job.events.length) return el('p', { class: 'empty' }, job.warnings.join(' ') || t('noEvents'));
  return table(t('tab.events'), ['time', 'type', 'reason', 'about', 'message'], job.events.map((each) => [
    age(each.time), el('span', { class: each.type === 'Warning' ? 'warning' : '' }, each.type), each.reason, each.name,
    each.times > 1 ? `${each.message} (${t('times', each.times)})` : each.message]));
}

function drawConditions(job) {
  if (!job.conditions.length) return el('p', { class: 'empty' }, t('noConditions'));
  return table(t('tab.conditions'), ['type', 'status', 'reason', 'since', 'message'], job.conditions.map((each) => [
    each.type, each.status ? 'True' : 'False', each.reason, age(each.since), each.message]));
}
