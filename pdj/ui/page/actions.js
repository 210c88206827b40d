// The actions on a job. Each asks for confirmation, and only users with the right to it see it.

import { el, setText, show } from './dom.js';
import { t } from './i18n.js';
import { post } from './net.js';

const ENDED = ['Completed', 'Failed'];

/** The actions that make sense for a job now and that the user has the right to. */
export function possible(job, rights) {
  const isOver = ENDED.includes(job.row.phase) || job.deleting;
  const names = [];
  if (rights.patch && !isOver) {
    names.push(job.suspended ? 'resume' : 'suspend');
    if (job.scalable && job.workers) names.push('scale');
    if (!job.suspended) names.push('restart');
  }
  if (rights.delete && !job.deleting) names.push('delete');
  return names;
}

/** Ask for confirmation, act, and show the result. */
export function ask(name, job, path, done) {
  const workers = el('input', { type: 'number', min: 0, max: 10000, required: true, id: 'workers', value: job.workers });
  const problem = el('p', { class: 'problem', role: 'alert' });
  const act = el('button', { type: 'submit', class: name === 'delete' ? 'danger' : 'primary' }, t(`act.${name}`));
  const dialog = el('dialog', { 'aria-labelledby': 'question' },
    el('form', {
      onsubmit: async (event) => {
        event.preventDefault();
        act.disabled = true;
        const body = { uid: job.row.uid };
        if (name === 'scale') body.workers = Number(workers.value);
        try {
          await post(`${path}/${name}`, body);
          dialog.close();
          done(t(`did.${name}`));
        } catch (error) {
          setText(problem, `${t(error.kind === 'forbidden' ? 'problem.other' : `problem.${error.kind || 'other'}`)} ${error.message}`);
          act.disabled = false;
        }
      },
    },
    el('h2', { id: 'question' }, t(`title.${name}`, job.row.name)),
    el('p', {}, t(`ask.${name}`)),
    name === 'scale' && el('p', {}, el('label', { for: 'workers' }, t('workers')), workers),
    problem,
    el('div', { class: 'buttons' },
      el('button', { type: 'button', onclick: () => dialog.close() }, t('cancel')), act)));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** The buttons, rebuilt only if they have changed, so that the focus stays. */
export function drawActions(node, job, rights, path, done) {
  const names = possible(job, rights);
  const shown = [...node.children].map((each) => each.dataset.action).join(' ');
  for (const button of node.children) button.job = job;
  if (shown === names.join(' ')) return;
  show(node, names.map((name) => {
    const button = el('button', {
      type: 'button', 'data-action': name, class: name === 'delete' ? 'danger' : '',
      onclick: () => ask(name, button.job, path, done),
    }, t(`act.${name}`));
    button.job = job;
    return button;
  }));
}
