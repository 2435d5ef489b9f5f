// One message as a bubble: forward and reply lines, media, text, reactions, time and the inline keyboard.

import { el, formatted, safeLink } from "./text.js";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

export function time(unix) { return clock.format(new Date(unix * 1000)); }

export function size(bytes = 0) {
  if (bytes < 1024) return bytes + " B";
  if (bytes < 1024 * 1024) return (bytes / 1024).toFixed(1) + " KB";
  return (bytes / 1024 / 1024).toFixed(1) + " MB";
}

// words is what a message says in one line, for replies and the pinned bar.
export function words(m) {
  const said = m.rich || m.text || m.caption;
  if (said) return said.replace(/\s+/g, " ").slice(0, 120);
  if (m.photo) return "Photo";
  if (m.sticker) return "Sticker " + (m.sticker.emoji || "");
  if (m.location) return "Location";
  if (m.contact) return "Contact";
  if (m.poll) return m.poll.question;
  for (const kind of ["video", "audio", "voice", "document"]) {
    if (m[kind]) return m[kind].file_name || { video: "Video", audio: "Audio", voice: "Voice message", document: "File" }[kind];
  }
  return "Message";
}

// serviceLine is the text of a message that nobody wrote, or null.
export function serviceLine(m) {
  const who = m.from?.first_name ?? "";
  if (m.pinned_message) return `${who} pinned “${words(m.pinned_message)}”`;
  if (m.forum_topic_created) return `${who} created the topic “${m.forum_topic_created.name}”`;
  if (m.new_chat_members) return `${m.new_chat_members[0].first_name} joined`;
  if (m.left_chat_member) return `${m.left_chat_member.first_name} left`;
  if (m.migrate_to_chat_id || m.migrate_from_chat_id) return "The group became a supergroup";
  return null;
}

const url = (id) => "/file/" + encodeURIComponent(id);

function largest(photo) { return photo[photo.length - 1]; }

function picture(m, act) {
  const p = largest(m.photo);
  const img = el("img", { src: url(p.file_id), alt: m.caption || "Photo", loading: "lazy", width: p.width, height: p.height });
  return el("button", { type: "button", class: "photo", "aria-label": "Open the photo", onclick: () => act.view(img.src) }, img);
}

function fileRow(a, label) {
  const name = a.file_name || label;
  const ext = name.includes(".") ? name.split(".").pop().slice(0, 4) : "file";
  return el("a", { class: "doc", href: url(a.file_id), download: name, title: "Download " + name },
    el("span", { class: "ext", "aria-hidden": "true" }, ext),
    el("span", { class: "docname" }, el("b", {}, name), el("small", {}, size(a.file_size) + " · download")));
}

// mediaOf shows what the message carries.
function mediaOf(m, act) {
  if (m.photo) return picture(m, act);
  if (m.animation) {
    const src = url(m.animation.file_id);
    return m.animation.mime_type === "image/gif"
      ? el("img", { class: "gif", src, alt: m.caption || "Animation" })
      : el("video", { class: "gif", src, autoplay: true, loop: true, muted: true, playsinline: true });
  }
  if (m.video) return el("video", { src: url(m.video.file_id), controls: true, preload: "metadata", playsinline: true });
  if (m.audio || m.voice) {
    const a = m.audio || m.voice;
    const title = m.voice ? "Voice message" : [a.performer, a.title].filter(Boolean).join(" – ") || a.file_name || "Audio";
    return el("div", { class: "sound" }, el("b", {}, title), el("audio", { src: url(a.file_id), controls: true, preload: "metadata" }));
  }
  if (m.document) return fileRow(m.document, "file");
  if (m.sticker) return m.sticker.file_size ? el("img", { class: "sticker", src: url(m.sticker.file_id), alt: m.sticker.emoji || "Sticker" }) : el("span", { class: "sticker" }, m.sticker.emoji);
  if (m.location) {
    const { latitude, longitude } = m.location;
    const map = `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=15/${latitude}/${longitude}`;
    return el("a", { class: "place", href: map, target: "_blank", rel: "noopener noreferrer" },
      el("span", { "aria-hidden": "true" }, "📍"), el("span", {}, el("b", {}, "Location"), el("small", {}, `${latitude}, ${longitude}`)));
  }
  if (m.contact) {
    return el("div", { class: "place" }, el("span", { "aria-hidden": "true" }, "👤"),
      el("span", {}, el("b", {}, [m.contact.first_name, m.contact.last_name].filter(Boolean).join(" ")), el("small", {}, m.contact.phone_number)));
  }
  if (m.poll) {
    return el("div", { class: "poll" }, el("b", {}, m.poll.question),
      el("small", {}, m.poll.is_closed ? "Final results" : m.poll.is_anonymous ? "Anonymous poll" : "Poll"),
      el("ul", {}, ...m.poll.options.map((o) => el("li", {}, o.text))));
  }
  return null;
}

function replyLine(m, act) {
  const r = m.reply_to_message;
  if (!r) return null;
  return el("button", { type: "button", class: "quote", onclick: () => act.jump(r.message_id) },
    el("b", {}, r.from?.first_name ?? ""), el("span", {}, m.quote?.text || words(r)));
}

// senderLine names who speaks, where that can be somebody else than the bot.
function senderLine(m) {
  return m.mine || m.chat.type === "private" ? null : el("p", { class: "forward" }, el("b", {}, m.from?.first_name ?? ""));
}

function forwardLine(m) {
  const f = m.forward_origin;
  if (!f) return null;
  const name = f.sender_user?.first_name ?? f.sender_user_name ?? f.sender_chat?.title ?? "";
  return el("p", { class: "forward" }, "Forwarded from ", el("b", {}, name));
}

function reactionsOf(m, act) {
  if (!m.reactions) return null;
  return el("div", { class: "reactions" }, ...m.reactions.map((r) =>
    el("button", { type: "button", class: r.mine ? "mine" : "", "aria-label": "Reaction " + r.emoji, onclick: () => act.react(m.message_id, r.emoji) }, r.emoji)));
}

function keyboard(m, act) {
  const rows = m.reply_markup?.inline_keyboard;
  if (!rows) return null;
  return el("div", { class: "kb" }, ...rows.map((row) => el("div", {}, ...row.map((b) => key(m, b, act)))));
}

function key(m, b, act) {
  const cls = "key " + (["danger", "success", "primary"].includes(b.style) ? b.style : "");
  if (b.url) {
    const href = safeLink(b.url);
    return href ? el("a", { class: cls, href, target: "_blank", rel: "noopener noreferrer" }, b.text, el("i", { "aria-hidden": "true" }, "↗"))
      : el("button", { type: "button", class: cls, disabled: true }, b.text);
  }
  const button = el("button", { type: "button", class: cls, disabled: !b.callback_data && !b.copy_text }, b.text);
  button.addEventListener("click", () => (b.copy_text ? act.copy(b.copy_text.text) : act.press(m, b, button)));
  return button;
}

// bubble builds the element of a message, or of an album when there are several.
export function bubble(list, act) {
  const m = list[0];
  const line = serviceLine(m);
  if (line !== null) return el("div", { class: "row service" }, el("p", {}, line));

  const said = list.find((x) => x.text || x.caption || x.rich) ?? m;
  const text = said.rich ? said.rich : said.text || said.caption || "";
  const marks = said.rich ? [] : said.text ? said.entities : said.caption_entities;
  const media = list.map((x) => mediaOf(x, act)).filter(Boolean);
  const album = list.length > 1 ? [el("div", { class: "album n" + Math.min(list.length, 4) + (m.photo || m.video ? "" : " files") }, ...media)] : media;
  const meta = el("span", { class: "meta" }, m.silent ? el("i", { title: "Sent without sound" }, "🔕") : null,
    list.some((x) => x.edit_date) ? el("i", {}, "edited") : null, el("time", {}, time(m.date)), m.mine ? el("i", { class: "ticks", "aria-hidden": "true" }, "✓✓") : null);

  const visual = Boolean(m.photo || m.video || m.animation);
  const body = el("div", {
    class: "bubble" + (visual ? " visual" : "") + (text ? "" : " bare") + (m.sticker ? " sticky" : "") + (m.has_protected_content ? " protected" : ""),
  }, senderLine(m), forwardLine(m), replyLine(m, act), ...album,
  text ? el("div", { class: "text" + (said.rich ? " rich" : ""), dir: "auto" }, ...formatted(text, marks, act), el("span", { class: "gap", "aria-hidden": "true" })) : null,
  reactionsOf(m, act), meta);
  const more = el("button", { type: "button", class: "icon dots", "aria-label": "Message menu", onclick: (ev) => act.menu(ev, m) }, "⋯");
  const row = el("article", { class: "row " + (m.mine ? "mine" : "theirs"), "data-id": m.message_id },
    el("div", { class: "stack" }, el("div", { class: "line" }, body, more), keyboard(list[list.length - 1], act)));
  row.addEventListener("contextmenu", (ev) => {
    if (ev.target.closest("a, img, pre") || !getSelection().isCollapsed) return;
    ev.preventDefault();
    act.menu(ev, m);
  });
  row.addEventListener("dblclick", (ev) => { if (!ev.target.closest("button, a, pre, .text")) act.reply(m); });
  return row;
}
