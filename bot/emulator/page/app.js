// The chat: takes the server's events, keeps the message list in step, and carries out what is clicked.

import { Composer } from "./composer.js";
import { bubble, serviceLine, words } from "./message.js";
import { copy, el, formatted } from "./text.js";

const $ = (id) => document.getElementById(id);
const log = $("log");
const messages = new Map(); // id → message
const rows = new Map(); // id, or album → element
let chat = { commands: [] };
let loaded = false;
let stuck = true; // to the bottom
let unread = 0;

if (location.search) history.replaceState(null, "", "/"); // the key stays out of sight and of copied addresses

async function post(path, body) {
  const form = body instanceof FormData;
  const answer = await fetch(path, { method: "POST", body: form ? body : JSON.stringify(body), headers: form ? {} : { "Content-Type": "application/json" } });
  if (!answer.ok) throw new Error((await answer.text()).trim() || answer.statusText);
  return answer.json();
}

let toastTimer;
function toast(text) {
  $("toast").textContent = text;
  $("toast").hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { $("toast").hidden = true; }, 3500);
}

function attempt(work) { return work.catch((err) => toast(err.message)); }

const act = {
  async press(m, b, button) {
    if (button.classList.contains("busy")) return;
    button.classList.add("busy");
    try {
      const a = await post("/press", { id: m.message_id, data: b.callback_data });
      if (a.text && a.alert) {
        $("alert").querySelector("p").textContent = a.text;
        $("alert").showModal();
      } else if (a.text) toast(a.text);
    } catch (err) {
      toast(err.message);
    } finally {
      button.classList.remove("busy");
    }
  },
  async copy(text) { toast((await copy(text)) ? "Copied" : "The browser does not allow copying"); },
  command: (text) => send(text),
  react: (id, emoji) => attempt(post("/react", { id, emoji })),
  reply: (m) => composer.reply(m),
  jump(id) {
    const row = rowOf(id);
    if (!row) return toast("This message is gone");
    row.scrollIntoView({ block: "center", behavior: "smooth" });
    row.classList.add("flash");
    setTimeout(() => row.classList.remove("flash"), 1500);
  },
  view(src) {
    $("viewer").querySelector("img").src = src;
    $("viewer").showModal();
  },
  menu: (ev, m) => openMenu(ev, m),
};

function send(text, replyTo = 0) {
  stuck = true;
  return attempt(post("/send", { text, reply_to: replyTo }));
}

const composer = new Composer({
  send,
  toast,
  edit: (id, text) => attempt(post("/edit", { id, text })),
  upload(files, caption, plain, replyTo) {
    const form = new FormData();
    for (const f of files) form.append("file", f, f.name);
    form.append("caption", caption);
    form.append("reply_to", String(replyTo || 0));
    if (plain) form.append("plain", "1");
    stuck = true;
    return attempt(post("/upload", form));
  },
  commands: () => chat.commands,
  lastOwn: () => [...messages.values()].filter((m) => m.mine && m.text).at(-1),
});

// The message list

function keyOf(m) { return m.media_group_id ? "album " + m.media_group_id : m.message_id; }

function albumOf(m) {
  if (!m.media_group_id) return [m];
  return [...messages.values()].filter((o) => o.media_group_id === m.media_group_id).sort((a, b) => a.message_id - b.message_id);
}

function rowOf(id) { return rows.get(id) ?? (messages.has(id) ? rows.get(keyOf(messages.get(id))) : undefined); }

function draw(m) {
  const key = keyOf(m), list = albumOf(m);
  const old = rows.get(key);
  if (list.length === 0) {
    old?.remove();
    rows.delete(key);
    return;
  }
  const row = bubble(list, act);
  row.dataset.first = list[0].message_id;
  rows.set(key, row);
  if (old) {
    for (const open of old.querySelectorAll(".spoiler.open")) { // what was revealed stays so
      [...row.querySelectorAll(".spoiler")].find((s) => s.textContent === open.textContent)?.classList.add("open");
    }
    old.replaceWith(row);
    return;
  }
  if (loaded) row.classList.add("new");
  const next = [...log.querySelectorAll(".row[data-first]")].find((r) => Number(r.dataset.first) > list[0].message_id);
  log.insertBefore(row, next ?? $("pending"));
}

function forget(id) {
  const m = messages.get(id);
  if (!m) return;
  messages.delete(id);
  if (m.media_group_id) {
    const rest = [...messages.values()].find((o) => o.media_group_id === m.media_group_id);
    if (rest) return draw(rest);
  }
  rows.get(keyOf(m))?.remove();
  rows.delete(keyOf(m));
}

// arrange sets day lines and joins what one side says in a row.
function arrange() {
  for (const day of log.querySelectorAll(".day")) day.remove();
  let last = null, lastDay = "";
  for (const row of [...log.querySelectorAll(".row[data-first]")]) {
    const m = messages.get(Number(row.dataset.first));
    const day = new Date(m.date * 1000).toLocaleDateString(undefined, { day: "numeric", month: "long" });
    if (day !== lastDay) {
      log.insertBefore(el("div", { class: "row day" }, el("p", {}, day)), row);
      last = null;
    }
    lastDay = day;
    const service = serviceLine(m) !== null;
    const joined = last && !service && last.m.mine === m.mine && m.date - last.m.date < 300;
    row.classList.toggle("joined", Boolean(joined));
    row.classList.add("tail");
    if (joined) last.row.classList.remove("tail");
    last = service ? null : { m, row };
  }
}

// Around the messages

const doing = {
  typing: "typing", upload_photo: "sending a photo", upload_video: "sending a video", upload_document: "sending a file",
  upload_voice: "sending a voice message", record_voice: "recording a voice message", upload_audio: "sending audio",
};
let actionTimer;

function around() {
  const { bot, notice, action, until, draft, replies } = chat;
  document.title = bot.first_name;
  $("name").textContent = bot.first_name;
  document.querySelector("#head .avatar").textContent = bot.first_name.slice(0, 1).toUpperCase();
  clearTimeout(actionTimer);
  const ends = Math.max(action ? until : 0, draft ? draft.until : 0) - Date.now();
  if (ends > 0) actionTimer = setTimeout(() => { chat = { ...chat, action: "", draft: chat.draft?.until > Date.now() ? chat.draft : null }; around(); }, ends);
  const busy = action && until > Date.now();
  $("status").textContent = busy ? (doing[action] ?? "busy") + "…" : "bot";
  $("notice").textContent = $("notice").title = notice ?? "";
  $("notice").hidden = !notice;
  $("status").classList.toggle("busy", Boolean(busy));
  pending(busy, draft && draft.until > Date.now() ? draft : null);
  composer.setCommands();
  composer.setReplies(replies);
  composer.setSuggestions(loaded && messages.size > 0 ? chat.suggest : []);
  const pinned = messages.get(chat.pinned?.at(-1));
  $("pinned").hidden = !pinned;
  if (pinned) $("pinned").replaceChildren(el("b", {}, "Pinned message"), el("span", {}, words(pinned)));
  $("start").hidden = !loaded || messages.size > 0;
  $("composer").hidden = !$("start").hidden;
}

// pending shows the draft that the bot writes, or the dots while it works.
function pending(busy, draft) {
  const box = $("pending");
  const dots = el("span", { class: "dots3", "aria-hidden": "true" }, el("i"), el("i"), el("i"));
  box.hidden = !busy && !draft;
  if (draft) {
    const stop = draft.can_stop ? el("button", { type: "button", class: "key", onclick: () => attempt(post("/stop", {})) }, "Stop") : null;
    const text = draft.text ? formatted(draft.text, draft.entities, act) : [el("i", {}, "Thinking")];
    box.replaceChildren(el("div", { class: "stack" }, el("div", { class: "line" }, el("div", { class: "bubble draft" }, el("div", { class: "text", dir: "auto" }, ...text, dots))), stop));
  } else if (busy) box.replaceChildren(el("div", { class: "stack" }, el("div", { class: "line" }, el("div", { class: "bubble typing" }, dots))));
}

function openMenu(ev, m) {
  const popup = $("popup");
  const item = (label, run, cls = "") => el("button", { type: "button", role: "menuitem", class: cls, onclick: () => { popup.hidden = true; run(); } }, label);
  const own = m.mine && !m.forward_origin;
  popup.replaceChildren(
    el("div", { class: "faces" }, ...["👍", "👎", "❤", "🔥", "🎉", "🤔", "👀"].map((e) => item(e, () => act.react(m.message_id, e)))),
    item("Reply", () => composer.reply(m)),
    ...(words(m) ? [item("Copy text", () => act.copy(m.rich || m.text || m.caption || words(m)))] : []),
    ...(own && (m.text || m.caption) ? [item("Edit", () => composer.edit(m))] : []),
    item("Delete", () => attempt(post("/delete", { id: m.message_id })), "danger"),
  );
  popup.hidden = false;
  const box = popup.getBoundingClientRect();
  popup.style.left = Math.max(8, Math.min(ev.clientX, innerWidth - box.width - 8)) + "px";
  popup.style.top = Math.max(8, Math.min(ev.clientY, innerHeight - box.height - 8)) + "px";
  popup.querySelector("button").focus({ preventScroll: true });
}

addEventListener("pointerdown", (ev) => { if (!ev.target.closest("#popup")) $("popup").hidden = true; });
addEventListener("keydown", (ev) => { if (ev.key === "Escape") $("popup").hidden = true; });
$("viewer").addEventListener("click", () => $("viewer").close());
$("pinned").addEventListener("click", () => act.jump(chat.pinned.at(-1)));
$("notice").addEventListener("click", () => $("notice").classList.toggle("open"));
$("start").querySelector("button").addEventListener("click", () => send("/start"));
$("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).getPropertyValue("--dark").trim() === "1";
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("nod-theme", document.documentElement.dataset.theme);
});

// Scrolling

function bottom() { log.scrollTop = log.scrollHeight; }

function showDown() {
  $("down").hidden = stuck;
  $("down").dataset.count = unread > 0 ? String(unread) : "";
}

log.addEventListener("scroll", () => {
  stuck = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
  if (stuck) unread = 0;
  showDown();
});
$("down").addEventListener("click", () => log.scrollTo({ top: log.scrollHeight, behavior: "smooth" }));
new ResizeObserver(() => { if (stuck) bottom(); }).observe(log);
log.addEventListener("load", () => { if (stuck) bottom(); }, true); // pictures that arrive late

// Events

function apply(state) {
  const keep = stuck;
  for (const id of state.gone ?? []) forget(id);
  for (const m of state.messages ?? []) {
    if (loaded && !messages.has(m.message_id) && !m.mine && !keep) unread++;
    messages.set(m.message_id, m);
  }
  for (const m of state.messages ?? []) draw(m);
  chat = { ...state.chat, commands: state.chat.commands ?? [] };
  arrange();
  loaded = true;
  around();
  if (keep) bottom();
  showDown();
}

log.append(el("div", { id: "pending", class: "row theirs tail", hidden: true }));

function listen() {
  const source = new EventSource("/events");
  source.onmessage = (ev) => {
    $("offline").hidden = true;
    apply(JSON.parse(ev.data));
  };
  source.onopen = () => { $("offline").hidden = true; };
  source.onerror = () => {
    $("offline").textContent = source.readyState === EventSource.CLOSED
      ? "This chat has ended. Start nod demo again and open the address that it prints." : "Connecting…";
    $("offline").hidden = false;
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 5000);
  };
}

listen();
composer.focus();
