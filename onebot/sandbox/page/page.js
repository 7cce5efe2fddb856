// page: the chats of the sandbox, who speaks in them, and what goes over the wire.
import { faceName, faceText, loadFaces, make, segments, summary } from '/segments.js';
import { switchLanguage, translate, word } from '/words.js';

const FRAMES_MAX = 300; // shown; each may be 256 KiB
const MESSAGES_MAX = 500; // of one chat, as the sandbox keeps them
const quickFaces = ['76', '66', '128077', '128514', '127881', '282', '271', '5'];

const $ = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get('token') ?? '';

const state = { people: [], groups: [], switches: {}, faults: [], bots: 0 };
const chats = new Map(); // key -> {key, group, user, messages: Map(id -> message), unread, last}
let current = '';
let quoting = null; // the message being answered
let socket = null;
let waiting = new Map(); // id of an order -> what to do with its answer
let orders = 0;

// ---- orders ----

const toast = (text) => {
  $('toast').textContent = text;
  $('toast').hidden = false;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => { $('toast').hidden = true; }, 4000);
};

const order = (what) => new Promise((resolve) => {
  if (socket?.readyState !== WebSocket.OPEN) { toast(word('lost')); resolve({ ok: false }); return; }
  const id = ++orders;
  waiting.set(id, resolve);
  socket.send(JSON.stringify({ ...what, id }));
});

const ordered = async (what) => {
  const answer = await order(what);
  if (!answer.ok && answer.error) toast(answer.error);
  return answer;
};

// ---- people and chats ----

const person = (id) => state.people.find((p) => String(p.user_id) === String(id));
const group = (id) => state.groups.find((g) => g.group_id === id);
const member = (g, id) => group(g)?.members.find((m) => String(m.user_id) === String(id));
const nameIn = (g) => (id) => member(g, id)?.card || person(id)?.name || String(id);
const keyOf = (m) => (m.group_id ? `g${m.group_id}` : `p${m.user_id}`);
const chatTitle = (c) => (c.group ? group(c.group)?.name ?? '' : word('private_with', person(c.user)?.name ?? ''));

const readChats = () => {
  for (const g of state.groups) if (!chats.has(`g${g.group_id}`)) chats.set(`g${g.group_id}`, { key: `g${g.group_id}`, group: g.group_id, user: 0, messages: new Map(), unread: 0, last: null });
  for (const p of state.people) if (p.user_id !== state.self_id && !chats.has(`p${p.user_id}`)) chats.set(`p${p.user_id}`, { key: `p${p.user_id}`, group: 0, user: p.user_id, messages: new Map(), unread: 0, last: null });
  if (!chats.has(current)) current = [...chats.keys()][0] ?? '';
};

const colours = ['#e4785c', '#5b9bd5', '#67b279', '#b07cc6', '#d9a441', '#4fb0ae', '#c76b8f', '#7a86c8'];
const avatar = (id, name) => {
  const bot = Number(id) === state.self_id;
  const e = make('span', { className: `avatar${bot ? ' bot' : ''}`, 'aria-hidden': 'true' }, bot ? make('img', { src: '/icon.svg', alt: '' }) : [...name][0] ?? '?');
  if (!bot) e.style.background = colours[Number(BigInt(id) % 8n)];
  return e;
};

const drawChats = () => {
  const rows = [];
  for (const [label, wanted] of [['groups', (c) => c.group], ['privates', (c) => !c.group]]) {
    rows.push(make('h2', {}, word(label)));
    for (const c of chats.values()) {
      if (!wanted(c)) continue;
      const name = c.group ? chatTitle(c) : person(c.user)?.name ?? '';
      const last = c.last ? `${nameIn(c.group)(c.last.sender)}: ${c.last.recalled ? '…' : summary(c.last.segments, nameIn(c.group))}` : c.group || person(c.user)?.friend ? '' : word('stranger');
      const row = make('button', { type: 'button', className: 'chat', role: 'option', 'aria-selected': String(c.key === current), 'data-chat': c.key },
        c.group ? make('span', { className: 'avatar group', 'aria-hidden': 'true' }, [...name][0] ?? '') : avatar(c.user, name),
        make('span', { className: 'about' }, make('strong', {}, name), make('small', {}, last)));
      if (c.unread) row.append(make('span', { className: 'unread' }, String(Math.min(c.unread, 99))));
      row.addEventListener('click', () => openChat(c.key));
      rows.push(row);
    }
  }
  $('chats').replaceChildren(...rows);
};

const openChat = (key) => {
  current = key;
  chats.get(key).unread = 0;
  unquote();
  document.body.classList.remove('side-open');
  drawAll();
};

const drawHead = () => {
  const c = chats.get(current);
  if (!c) return;
  $('title').textContent = chatTitle(c);
  $('subtitle').textContent = c.group ? word('members', group(c.group)?.members.length ?? 0) : '';
  const who = c.group ? group(c.group)?.members.map((m) => m.user_id) ?? [] : [c.user];
  const before = $('as').value;
  const people = who.filter((id) => id !== state.self_id);
  $('as').replaceChildren(...people.map((id) => make('option', { value: String(id) }, nameIn(c.group)(id))));
  const usual = people.find((id) => member(c.group, id)?.role === 'member') ?? people[0];
  $('as').value = people.includes(Number(before)) ? before : String(usual ?? '');
  $('mention').hidden = !c.group;
};

const drawLink = () => {
  $('link').textContent = state.bots ? word('connected', state.bots) : word('waiting');
  $('link').className = state.bots ? 'up' : 'waiting';
};

// ---- messages ----

const time = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });

const quoteOf = (m, names) => {
  const reply = m.segments.find((s) => s?.type === 'reply');
  if (!reply) return null;
  const id = String(reply.data?.id ?? reply.data?.message_id ?? '');
  const original = chats.get(keyOf(m))?.messages.get(id);
  const e = make('button', { type: 'button', className: 'quote' }, ...(original ? [make('b', {}, names(original.sender)), ' ', summary(original.segments, names)] : [word('gone')]));
  e.addEventListener('click', () => $('messages').querySelector(`[data-message-id="${CSS.escape(id)}"]`)?.scrollIntoView({ block: 'center', behavior: 'smooth' }));
  return e;
};

const reactionsOf = (m, names) => {
  const counted = new Map();
  for (const r of m.reactions) counted.set(r.emoji_id, [...(counted.get(r.emoji_id) ?? []), r.user_id]);
  const row = make('span', { className: 'reactions' });
  for (const [id, users] of counted) {
    const mine = users.includes(Number($('as').value));
    const pill = make('button', { type: 'button', className: `reaction${mine ? ' mine' : ''}`, title: `${faceName(id)}: ${users.map(names).join(', ')}`, 'data-emoji': id },
      make('span', { className: 'sign' }, faceText(id)), make('span', { className: 'number' }, String(users.length)));
    pill.addEventListener('click', () => ordered({ do: 'react', as: Number($('as').value), message_id: m.message_id, emoji_id: id, set: !mine }));
    row.append(pill);
  }
  return counted.size ? row : null;
};

const mayRecall = (m) => {
  const as = Number($('as').value);
  const role = member(m.group_id, as)?.role;
  return m.sender === as || role === 'owner' || role === 'admin';
};

const menuOf = (m) => {
  const menu = make('span', { className: 'actions' });
  const button = (text, label, run) => {
    const b = make('button', { type: 'button', className: 'plain', title: label, 'aria-label': label }, text);
    b.addEventListener('click', run);
    menu.append(b);
  };
  button('↩', word('quote'), () => quote(m));
  if (m.group_id) {
    const faces = make('span', { className: 'menu', hidden: true });
    for (const id of quickFaces) {
      const b = make('button', { type: 'button', className: 'plain', title: faceName(id) }, faceText(id));
      b.addEventListener('click', () => { faces.hidden = true; ordered({ do: 'react', as: Number($('as').value), message_id: m.message_id, emoji_id: id }); });
      faces.append(b);
    }
    button('☺', word('react'), () => { faces.hidden = !faces.hidden; });
    menu.append(faces);
  }
  if (mayRecall(m)) button('⌫', word('recall'), () => ordered({ do: 'recall', as: Number($('as').value), message_id: m.message_id }));
  return menu;
};

const roleTag = (m) => {
  if (m.sender === state.self_id) return make('span', { className: 'tag bot' }, word('bot'));
  const role = member(m.group_id, m.sender)?.role;
  return role === 'owner' || role === 'admin' ? make('span', { className: `tag ${role}` }, word(role)) : null;
};

// "dropped: share" in the page's language, the rest as the sandbox wrote it.
const noteText = (note) => {
  const [, what, rest] = /^([^:]+)(: .*)?$/s.exec(note) ?? [];
  return what ? word(what) + (rest ?? '') : note;
};

const draw = (m) => {
  const names = nameIn(m.group_id);
  const li = make('li', { 'data-message-id': m.message_id, 'data-sender': String(m.sender) });
  if (m.recalled) {
    li.className = 'notice';
    li.append(make('span', {}, word('recalled', names(m.sender))));
    return li;
  }
  const mine = m.sender === Number($('as').value);
  li.className = `message${mine ? ' mine' : ''}${m.unseen ? ' unseen' : ''}`;
  const shown = segments(m.segments, names);
  const only = m.segments.filter((s) => s?.type !== 'reply');
  const bare = only.length === 1 && ['image', 'json', 'music', 'share', 'video', 'dice', 'rps', 'file'].includes(only[0]?.type) && only.length === m.segments.length;
  const bubble = make('div', { className: `bubble${bare ? ' bare' : ''}` }, ...[quoteOf(m, names)].filter(Boolean), ...shown);
  const under = [reactionsOf(m, names)];
  if (m.unseen) under.push(make('small', { className: 'note' }, word('unseen')));
  for (const n of m.notes) under.push(make('small', { className: 'note', 'data-note': n }, noteText(n)));
  li.append(avatar(m.sender, person(m.sender)?.name ?? '?'),
    make('div', { className: 'body' },
      make('div', { className: 'who' }, ...[make('span', { className: 'name' }, names(m.sender)), roleTag(m)].filter(Boolean), make('time', {}, time(m.time))),
      make('div', { className: 'beside' }, bubble, menuOf(m)),
      ...under.filter(Boolean)));
  return li;
};

const atEnd = () => $('messages').scrollHeight - $('messages').scrollTop - $('messages').clientHeight < 80;
const toEnd = () => { $('messages').scrollTop = $('messages').scrollHeight; $('newest').hidden = true; };

const drawMessages = () => {
  const c = chats.get(current);
  const list = [...(c?.messages.values() ?? [])].map(draw);
  $('messages').replaceChildren(...(list.length ? list : [make('li', { className: 'notice first' }, make('span', {}, word('nothing')))]));
  toEnd();
};

const takeMessage = (m) => {
  const c = chats.get(keyOf(m));
  if (!c) return;
  const old = c.messages.has(m.message_id);
  c.messages.set(m.message_id, m);
  if (!c.last || m.seq >= c.last.seq) c.last = m;
  const gone = c.messages.size > MESSAGES_MAX ? c.messages.keys().next().value : null;
  if (gone !== null) c.messages.delete(gone);
  if (c.key === current) {
    const end = atEnd();
    const place = $('messages').querySelector(`[data-message-id="${CSS.escape(m.message_id)}"]`);
    if (gone !== null) $('messages').firstElementChild?.remove();
    if (place) place.replaceWith(draw(m));
    else { $('messages').querySelector('.first')?.remove(); $('messages').append(draw(m)); }
    if (end || m.sender === Number($('as').value)) toEnd();
    else if (!old) $('newest').hidden = false;
  } else if (!old && m.sender === state.self_id) {
    c.unread++;
  }
  drawChats();
};

// ---- speaking ----

const quote = (m) => {
  quoting = m;
  $('quoting').hidden = false;
  $('quoted').textContent = `${nameIn(m.group_id)(m.sender)}: ${summary(m.segments, nameIn(m.group_id))}`;
  $('text').focus();
};
const unquote = () => { quoting = null; $('quoting').hidden = true; };

// "@name" of a member becomes a mention; the longest name counts.
const spoken = (text, c) => {
  const names = c.group ? group(c.group).members.flatMap((m) => [m.card, person(m.user_id)?.name].filter(Boolean).map((n) => [n, m.user_id])) : [];
  names.sort((a, b) => b[0].length - a[0].length);
  const list = [];
  const add = (s) => {
    const last = list.at(-1);
    if (s.type === 'text' && last?.type === 'text') last.data.text += s.data.text;
    else list.push(s);
  };
  for (let at = 0; at < text.length;) {
    const found = text[at] === '@' ? names.find(([n]) => text.startsWith(n, at + 1)) : undefined;
    if (found) add({ type: 'at', data: { qq: String(found[1]) } });
    else add({ type: 'text', data: { text: text[at] } });
    at += found ? found[0].length + 1 : 1;
  }
  return list;
};

const speak = async () => {
  const c = chats.get(current);
  const text = $('text').value.replace(/\s+$/, '');
  if (!c || !text) return;
  const list = spoken(text, c);
  if (quoting) list.unshift({ type: 'reply', data: { id: quoting.message_id } });
  const answer = await ordered({ do: 'say', as: Number($('as').value), ...(c.group ? { group: c.group } : { private: true }), segments: list });
  if (!answer.ok) return;
  $('text').value = '';
  unquote();
  toEnd();
};

const drawPeople = () => {
  const c = chats.get(current);
  const people = c?.group ? group(c.group).members.filter((m) => String(m.user_id) !== $('as').value) : [];
  people.sort((a, b) => (b.user_id === state.self_id) - (a.user_id === state.self_id));
  $('people').replaceChildren(...people.map((m) => {
    const b = make('button', { type: 'button', className: 'plain' }, nameIn(c.group)(m.user_id));
    b.addEventListener('click', () => {
      $('text').setRangeText(`@${nameIn(c.group)(m.user_id)} `, $('text').selectionStart, $('text').selectionEnd, 'end');
      $('people').hidden = true;
      $('text').focus();
    });
    return b;
  }));
};

// ---- the wire ----

const calls = new Map(); // bot + echo -> action, to name the answers

const parsed = (text) => { try { return JSON.parse(text); } catch { return null; } };

const describe = (f, json) => {
  const echo = `${f.bot} ${JSON.stringify(json?.echo)}`;
  if (f.way === 'call') {
    calls.set(echo, String(json?.action ?? '?'));
    if (calls.size > FRAMES_MAX) calls.delete(calls.keys().next().value);
    return [String(json?.action ?? '?'), ''];
  }
  if (f.way === 'answer') return [calls.get(echo) ?? '?', `${json?.status ?? '?'} ${json?.retcode ?? ''}`];
  const kind = json?.meta_event_type ?? json?.notice_type ?? json?.request_type ?? json?.message_type ?? '';
  return [[json?.post_type, kind].filter(Boolean).join('.') || '?', json?.sub_type ?? ''];
};

const takeFrame = (f) => {
  const json = parsed(f.text);
  const beat = json?.meta_event_type === 'heartbeat';
  const [name, detail] = describe(f, json);
  const failed = f.way === 'answer' && (json?.status !== 'ok' || (json?.data?.result ?? 0) !== 0);
  const body = make('pre');
  const e = make('details', { className: `frame ${f.way}${failed ? ' failed' : ''}` },
    make('summary', {}, make('span', { className: 'way', title: f.way }, { call: '→', answer: '←', event: '⇠' }[f.way]), make('span', { className: 'name' }, name),
      make('span', { className: 'detail' }, String(detail)), make('small', {}, `${f.bytes} B`)), body);
  e.addEventListener('toggle', () => {
    if (!e.open || body.textContent) return;
    body.textContent = json && !f.cut ? JSON.stringify(json, (k, v) => (typeof v === 'string' && v.length > 400 ? `${v.slice(0, 200)}… (${v.length})` : v), 2) : f.text;
    if (f.cut) e.append(make('small', {}, word('cut', f.bytes)));
  });
  const li = make('li', { className: beat ? 'beat' : f.way === 'event' ? 'event' : '' }, e);
  const end = $('wire').scrollHeight - $('wire').scrollTop - $('wire').clientHeight < 60;
  $('frames').append(li);
  while ($('frames').children.length > FRAMES_MAX) $('frames').firstElementChild.remove();
  if (end) $('wire').scrollTop = $('wire').scrollHeight;
};

// ---- the peer ----

const booleans = ['report_self', 'heartbeat', 'offline', 'refuse_tokens'];
const choices = ['message_format', 'sign'];

const drawPeer = () => {
  const c = chats.get(current);
  const options = (list, label = (x) => x) => list.map((x) => make('option', { value: x }, label(x)));
  const kind = $('fault_kind').value || 'timeout';
  $('profile').replaceChildren(...options(state.profiles ?? []));
  $('profile').value = state.profile ?? '';
  $('fault_kind').replaceChildren(...options(state.faults_known ?? [], (x) => word(x)));
  $('fault_kind').value = kind;
  for (const name of booleans) $(name).checked = Boolean(state.switches[name]);
  for (const name of choices) $(name).value = state.switches[name] ?? '';
  for (const id of ['bot_role', 'muted']) $(id).closest('label').hidden = !c?.group;
  $('bot_role').value = member(c?.group, state.self_id)?.role ?? 'member';
  $('muted').checked = Boolean(group(c?.group)?.muted);
  $('ordered').replaceChildren(...state.faults.map((f) => make('li', {}, make('code', {}, f.action), ' ', word(f.kind), ' ', word('times', f.count))));
  drawFaultFields();
};

const drawFaultFields = () => {
  for (const e of document.querySelectorAll('.for')) e.hidden = !e.dataset.for.split(' ').includes($('fault_kind').value);
};

const orderFault = () => {
  const has = (id) => !$(id).closest('.for').hidden;
  const what = { do: 'fault', action: $('fault_action').value.trim() || '*', kind: $('fault_kind').value, count: Number($('fault_count').value) || 1 };
  if (has('fault_ms')) what.ms = Number($('fault_ms').value) || 0;
  if (has('fault_retcode')) what.retcode = Number($('fault_retcode').value) || 0;
  if (has('fault_text')) what.text = $('fault_text').value;
  if (has('fault_delivered')) what.delivered = $('fault_delivered').checked;
  if (has('fault_push')) what.push = $('fault_push').checked;
  ordered(what);
};

const listen = () => {
  const on = (id, event, run) => $(id).addEventListener(event, run);
  const set = (name, value) => ordered({ do: 'set', [name]: value });
  for (const name of booleans) on(name, 'change', () => set(name, $(name).checked));
  for (const name of choices) on(name, 'change', () => set(name, $(name).value));
  on('profile', 'change', () => ordered({ do: 'play', profile: $('profile').value }));
  on('bot_role', 'change', () => ordered({ do: 'role', group: chats.get(current).group, user: state.self_id, role: $('bot_role').value }));
  on('muted', 'change', () => ordered({ do: 'mute', group: chats.get(current).group, on: $('muted').checked }));
  on('drop', 'click', () => ordered({ do: 'link', end: 'drop' }));
  on('close', 'click', () => ordered({ do: 'link', end: 'close' }));
  on('fault_kind', 'change', drawFaultFields);
  on('fault', 'submit', (e) => { e.preventDefault(); orderFault(); });
  on('clear-faults', 'click', () => ordered({ do: 'clear' }));
  on('clear-wire', 'click', () => $('frames').replaceChildren());
  on('show-events', 'change', () => $('frames').classList.toggle('no-events', !$('show-events').checked));
  on('show-beats', 'change', () => $('frames').classList.toggle('no-beats', !$('show-beats').checked));
  on('language', 'click', () => { switchLanguage(); drawAll(); });
  on('open-side', 'click', () => document.body.classList.toggle('side-open'));
  on('open-panel', 'click', () => { document.body.classList.toggle('panel-open'); $('open-panel').setAttribute('aria-expanded', String(document.body.classList.contains('panel-open'))); });
  on('close-panel', 'click', () => document.body.classList.remove('panel-open'));
  for (const tab of document.querySelectorAll('[role=tab]')) {
    tab.addEventListener('click', () => {
      for (const t of document.querySelectorAll('[role=tab]')) {
        t.setAttribute('aria-selected', String(t === tab));
        $(t.getAttribute('aria-controls')).hidden = t !== tab;
      }
    });
  }
  on('unquote', 'click', unquote);
  on('newest', 'click', toEnd);
  on('messages', 'scroll', () => { if (atEnd()) $('newest').hidden = true; });
  on('as', 'change', drawMessages);
  on('mention', 'click', () => { drawPeople(); $('people').hidden = !$('people').hidden; });
  on('composer', 'submit', (e) => { e.preventDefault(); speak(); });
  on('text', 'keydown', (e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) { e.preventDefault(); speak(); } });
  document.addEventListener('click', (e) => { if (!e.target.closest('.tools')) $('people').hidden = true; });
};

// ---- the whole ----

const drawAll = () => {
  translate();
  drawHead();
  drawChats();
  drawMessages();
  drawLink();
  drawPeer();
};

const takeState = (s) => {
  const first = state.people.length === 0;
  const roles = JSON.stringify(state.groups);
  Object.assign(state, s);
  readChats();
  if (first || roles !== JSON.stringify(state.groups)) drawAll();
  else { drawLink(); drawPeer(); }
};

const takers = { state: takeState, message: takeMessage, frame: takeFrame };

const connect = () => {
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  socket = new WebSocket(`${scheme}://${location.host}/ui?token=${encodeURIComponent(token)}`);
  socket.addEventListener('message', (e) => {
    const m = JSON.parse(e.data);
    if ('re' in m) { waiting.get(m.re)?.(m); waiting.delete(m.re); return; }
    if (Object.hasOwn(takers, m.push)) takers[m.push](m);
  });
  socket.addEventListener('open', () => { for (const c of chats.values()) { c.messages.clear(); c.last = null; } drawMessages(); });
  socket.addEventListener('close', () => {
    for (const resolve of waiting.values()) resolve({ ok: false });
    waiting = new Map();
    $('link').textContent = word('lost');
    $('link').className = 'lost';
    setTimeout(connect, 1500);
  });
};

translate();
listen();
$('frames').classList.add('no-beats');
await loadFaces();
connect();
