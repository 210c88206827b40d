// A job's life as a picture: phases, attempts and pods as bars in time, and what ended them.

import { el, show, svg } from './dom.js';
import { lasted, moment, now, phaseName } from './format.js';
import { t } from './i18n.js';

const ROW = 24;
const BAR = 14;
const AXIS = 22;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800, 2592000];

/** Draw the lanes into `node`, over its full width. */
export function drawTimeline(node, timeline, job) {
  const width = Math.max(280, node.clientWidth || 800);
  const names = timeline.lanes.map((lane) => laneName(lane, job));
  const label = Math.min(Math.floor(width * 0.3), 8 + 7.2 * Math.max(...names.map(columns)));
  const start = timeline.start;
  const end = Math.max(timeline.end ?? now(), start + 1, ...timeline.lanes.flatMap((lane) => lane.bars.map((bar) => bar.end ?? 0)));
  const x = (time) => label + ((Math.min(Math.max(time, start), end) - start) / (end - start)) * (width - label - 10);
  const height = AXIS + ROW * timeline.lanes.length;
  const picture = svg('svg', {
    viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': t('timelineOf', job),
  }, drawAxis(x, start, end, height, width),
  timeline.lanes.map((lane, at) => drawLane(lane, names[at], AXIS + at * ROW, x, end, label)));
  show(node, picture, timeline.more ? el('p', { class: 'more' }, t('morePods', timeline.more)) : null);
}

const columns = (text) => [...text].reduce((sum, each) => sum + (each > '\u2e80' ? 2 : 1), 0);

function laneName(lane, job) {
  if (lane.kind !== 'pod') return t(`lane.${lane.kind}`);
  return lane.name.startsWith(`${job}-`) ? lane.name.slice(job.length + 1) : lane.name;
}

/** Seconds between two ticks, so that there are at most `most` ticks, however long the span is. */
function stepOf(span, most) {
  const longest = STEPS.at(-1);
  return STEPS.find((each) => span / each <= most) || Math.ceil(span / most / longest) * longest;
}

function drawAxis(x, start, end, height, width) {
  const most = Math.max(2, Math.floor(width / 110));
  const step = stepOf(end - start, most);
  const parts = [];
  for (let time = 0; start + time <= end; time += step) {
    const at = x(start + time);
    parts.push(svg('line', { class: 'grid', x1: at, x2: at, y1: AXIS - 6, y2: height }),
      svg('text', { class: 'axis', x: Math.min(at, width), y: 11, 'text-anchor': !time ? 'start' : at > width - 24 ? 'end' : 'middle' },
        time ? `+${lasted(0, time)}` : moment(start).slice(11)));
  }
  return svg('g', { 'aria-hidden': 'true' }, parts);
}

function drawLane(lane, name, top, x, end, label) {
  const short = columns(name) * 7.2 > label ? `${name.slice(0, Math.max(1, Math.floor(label / 7.2) - 2))}…` : name;
  return svg('g', { class: `lane ${lane.kind}` },
    svg('text', { class: 'name', x: 0, y: top + ROW / 2 + 4 }, short, svg('title', {}, name)),
    lane.bars.map((bar) => drawBar(lane, bar, top, x, end)),
    lane.marks.map(([time, text]) => drawMark(time, text, top, x)));
}

function drawBar(lane, bar, top, x, end) {
  const from = x(bar.start);
  const wide = Math.max(2, x(bar.end ?? end) - from);
  const said = lane.kind === 'phases' ? phaseName(bar.state) : t(`bar.${bar.state}`);
  const inside = lane.kind === 'phases' ? said : lane.kind === 'attempts' ? bar.label : '';
  const name = lane.kind === 'attempts' ? `${t('attempt', bar.label)}: ${said}` : said;
  const text = `${name}${lane.kind === 'pod' && bar.label ? ` (${bar.label})` : ''}, ${moment(bar.start)} ` +
    `${t('until')} ${bar.end === null ? t('nowWord') : moment(bar.end)} (${lasted(bar.start, bar.end)})`;
  const kind = lane.kind === 'phases' ? `phase-${bar.state}` : `bar-${bar.state}`;
  return svg('g', { class: `bar ${kind}` }, svg('title', {}, text),
    svg('rect', { x: from, y: top + (ROW - BAR) / 2, width: wide, height: BAR, rx: 3 }),
    inside && wide > 12 + columns(inside) * 6.6
      ? svg('text', { class: 'inside', x: from + 8, y: top + ROW / 2 + 4 }, inside) : null);
}

function drawMark(time, text, top, x) {
  const at = x(time);
  const middle = top + ROW / 2;
  return svg('g', { class: 'mark' }, svg('title', {}, `${text}, ${moment(time)}`),
    svg('circle', { cx: at, cy: middle, r: 6 }),
    svg('path', { d: `M${at - 2.6} ${middle - 2.6}l5.2 5.2m0 -5.2l-5.2 5.2` }));
}
