// segments: how one segment of a message looks. What came from a chat enters the page as text nodes
// and as addresses that were looked at, never as markup.
import { word } from '/words.js';

export const make = (tag, properties = {}, ...children) => {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('data-') || name.startsWith('aria-') || name === 'role') e.setAttribute(name, value);
    else e[name] = value;
  }
  e.append(...children);
  return e;
};

const string = (value) => (typeof value === 'string' ? value : value === undefined || value === null ? '' : String(value));
const isWeb = (address) => /^https?:\/\/[^\s]+$/i.test(address);

// faces: id -> {name, emoji}
const faces = new Map();
export const loadFaces = async () => {
  const table = await (await fetch('/faces.tsv')).text();
  for (const line of table.split('\n')) {
    const [id, name, , type] = line.split('\t');
    if (id) faces.set(id, { name, emoji: type === '2' ? String.fromCodePoint(Number(id)) : '' });
  }
};
export const faceText = (id) => {
  const face = faces.get(string(id));
  return face ? face.emoji || face.name : `#${string(id)}`;
};
export const faceName = (id) => faces.get(string(id))?.name ?? string(id);

// Text with its web addresses as links.
const linked = (text) => {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(/https?:\/\/[^\s<>"'，。；！？、）】」]+/gi)) {
    parts.push(text.slice(at, found.index), link(found[0], found[0]));
    at = found.index + found[0].length;
  }
  parts.push(text.slice(at));
  return parts.filter((p) => p !== '');
};

const link = (address, ...children) =>
  isWeb(address)
    ? make('a', { href: address, target: '_blank', rel: 'noopener noreferrer' }, ...children)
    : make('span', {}, ...children);

// ---- media ----

const types = [
  [/^iVBORw0KGgo/, 'image/png'], [/^\/9j\//, 'image/jpeg'], [/^R0lGOD/, 'image/gif'], [/^UklGR/, 'image/webp'],
  [/^SUQz|^\/\/[uv]/, 'audio/mpeg'], [/^T2dnUw/, 'audio/ogg'], [/^AAAA.{4}Z0eX/, 'video/mp4'],
];

// What a browser can load of a media reference, '' where it can't.
const loadable = (file, fallback) => {
  if (isWeb(file)) return file;
  if (/^data:(image|audio|video)\/[a-z0-9.+-]+;base64,/i.test(file)) return file;
  if (!file.startsWith('base64://')) return '';
  const bytes = file.slice('base64://'.length);
  return `data:${types.find(([start]) => start.test(bytes))?.[1] ?? fallback};base64,${bytes}`;
};

export const fileName = (file, name) => {
  if (name) return name;
  if (file.startsWith('too-long:')) return word('too_long');
  if (file.startsWith('base64://') || file.startsWith('data:')) return `base64, ${Math.round((file.length * 3) / 4 / 102.4) / 10} KiB`;
  const last = file.split(/[?#]/)[0].split('/').pop() ?? '';
  try { return decodeURIComponent(last) || file; } catch { return last || file; }
};

// A row with the ending of the name as its sign.
const fileRow = (type, file, name) => {
  const shown = fileName(file, name);
  const ending = /\.([a-z0-9]{1,4})$/i.exec(shown)?.[1] ?? '';
  return make('span', { className: `row ${type}` }, make('span', { className: `sheet ${type}`, 'aria-hidden': 'true' }, ending.toUpperCase()),
    make('span', { className: 'name' }, shown), make('small', {}, word(type)));
};

const image = (data) => {
  const file = string(data.file);
  const source = loadable(file, 'image/png');
  const instead = () => fileRow('image', file, string(data.summary));
  if (!source) return instead();
  const e = make('img', { className: 'picture', alt: string(data.summary) || word('image'), referrerPolicy: 'no-referrer', loading: 'lazy', src: source });
  e.addEventListener('error', () => e.replaceWith(instead()), { once: true });
  return e;
};

const player = (tag, source) => make(tag, { controls: true, src: source, preload: 'metadata' });

const record = (data) => {
  const file = string(data.file);
  const source = loadable(file, 'audio/mpeg');
  const bars = make('span', { className: 'bars', 'aria-hidden': 'true' }, ...[5, 9, 14, 8, 12, 6, 10, 4].map((h) => make('i', { className: `h${h}` })));
  const row = make('button', { className: 'row voice', type: 'button', disabled: !source }, make('span', { className: 'mark' }, '▶'), bars, make('span', { className: 'name' }, fileName(file)));
  row.addEventListener('click', () => row.replaceWith(player('audio', source)), { once: true });
  return row;
};

const video = (data) => {
  const file = string(data.file);
  const source = loadable(file, 'video/mp4');
  const row = make('button', { className: 'video', type: 'button', disabled: !source }, make('span', { className: 'mark' }, '▶'), make('span', { className: 'name' }, fileName(file)));
  row.addEventListener('click', () => row.replaceWith(player('video', source)), { once: true });
  return row;
};

const file = (data) => {
  const address = string(data.file);
  const row = fileRow('file', address, string(data.name));
  return isWeb(address) ? link(address, row) : row;
};

// ---- cards ----

const card = ({ kind, title, text, tag, cover, address }) => {
  const face = make('span', { className: 'cover' });
  if (isWeb(cover)) {
    const e = make('img', { src: cover, alt: '', referrerPolicy: 'no-referrer', loading: 'lazy' });
    e.addEventListener('error', () => e.remove(), { once: true });
    face.append(e);
  }
  if (kind === 'music') face.append(make('b', { 'aria-hidden': 'true' }, '▶'));
  const e = link(address, make('span', { className: 'words' }, make('strong', {}, title || word('card')), make('span', { className: 'text' }, text)), face, make('small', {}, tag));
  e.className = `card ${kind}`;
  e.dataset.tag = tag;
  return e;
};

const ark = (data) => {
  let tree;
  try { tree = typeof data.data === 'string' ? JSON.parse(data.data) : data.data; } catch { tree = null; }
  if (!tree || typeof tree !== 'object') return make('span', { className: 'chip' }, '[json]');
  const meta = Object.values(tree.meta ?? {})[0] ?? {};
  return card({ kind: tree.meta?.music ? 'music' : 'share', title: string(meta.title || tree.prompt), text: string(meta.desc), tag: string(meta.tag || tree.app),
    cover: string(meta.preview), address: string(meta.jumpUrl) });
};

const music = (data) => card({ kind: 'music', title: string(data.title), text: string(data.content), tag: string(data.tag), cover: string(data.image), address: string(data.url) });
const share = (data) => card({ kind: 'share', title: string(data.title), text: string(data.content), tag: string(data.url).split('/')[2] ?? '', cover: string(data.image), address: string(data.url) });

// ---- a whole message ----

const dice = ['', '⚀', '⚁', '⚂', '⚃', '⚄', '⚅'];
const hands = ['', '✊', '✌️', '✋'];
const result = (list, type) => (data) => make('span', { className: 'drawn', title: `${type} ${string(data.result)}` }, list[Number(data.result)] ?? `[${type}]`);

const looks = {
  text: (data) => make('span', { className: 'text' }, ...linked(string(data.text))),
  at: (data, names) => make('span', { className: 'chip at' }, `@${string(data.qq) === 'all' ? word('everyone') : names(string(data.qq))}`),
  face: (data) => make('span', { className: 'chip face' }, faceText(data.id)),
  image, record, video, file, json: ark, music, share,
  dice: result(dice, 'dice'), rps: result(hands, 'rps'),
  forward: (data, names, depth) => forward(data, names, depth),
  markdown: (data) => make('span', { className: 'text' }, string(data.content)),
};

const forward = (data, names, depth = 0) => {
  const nodes = Array.isArray(data.content) ? data.content : [];
  const body = depth < 3 ? nodes.map((n) => make('div', { className: 'node' }, make('b', {}, string(n.nickname)), ...segments(n.content, names, depth + 1))) : [];
  return make('details', { className: 'forward' }, make('summary', {}, make('strong', {}, word('forward')), make('small', {}, word('count_messages', nodes.length))), ...body);
};

// The elements of a message's segments, without its quotes. names: an account -> what it is called.
export const segments = (list, names, depth = 0) =>
  (Array.isArray(list) ? list : []).filter((s) => s?.type !== 'reply').map((s) => {
    const type = string(s?.type);
    const look = Object.hasOwn(looks, type) ? looks[type](s.data ?? {}, names, depth) : make('span', { className: 'chip' }, `[${type}]`);
    look.dataset.segment = type;
    return look;
  });

const short = new Map([['record', 'voice'], ['json', 'card'], ['music', 'card'], ['share', 'card']]);

// A message in one line.
export const summary = (list, names) =>
  (Array.isArray(list) ? list : []).filter((s) => s?.type !== 'reply').map((s) => {
    const data = s?.data ?? {};
    if (s?.type === 'text') return string(data.text);
    if (s?.type === 'at') return `@${string(data.qq) === 'all' ? word('everyone') : names(string(data.qq))} `;
    if (s?.type === 'face') return faceText(data.id);
    return `[${word(short.get(s?.type) ?? string(s?.type))}]`;
  }).join('').replace(/\s+/g, ' ').slice(0, 80);
