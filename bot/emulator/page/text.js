// Formatted text as DOM nodes. Nothing here ever parses HTML: text enters the page as text.

const plain = {
  bold: "b", italic: "i", underline: "u", strikethrough: "s", code: "code", pre: "pre",
  blockquote: "blockquote", expandable_blockquote: "blockquote",
};

export function el(tag, attrs = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined && c !== ""));
  return node;
}

// safeLink keeps the schemes that open something harmless.
export function safeLink(address) {
  try {
    const url = new URL(address.includes(":") ? address : "https://" + address);
    return ["http:", "https:", "mailto:", "tel:", "tg:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

// formatted returns the nodes of a text. Entity offsets count UTF-16 units, as JavaScript strings do.
// act.command(text) is called when a /command is clicked.
export function formatted(text, entities = [], act = {}) {
  return build(text, 0, text.length, [...entities], act);
}

// build takes the entities in order of offset, longer ones first. One that reaches past its parent is split.
function build(text, from, to, entities, act) {
  const nodes = [];
  let at = from;
  while (entities.length > 0) {
    const e = entities.shift();
    const begin = Math.max(e.offset, at), end = Math.min(e.offset + e.length, to);
    if (begin >= end) continue;
    if (begin > at) nodes.push(between(text.slice(at, begin), nodes));
    const inner = [], later = [];
    for (const o of entities) {
      const oEnd = o.offset + o.length;
      if (o.offset < end) inner.push({ ...o, length: Math.min(oEnd, end) - o.offset });
      if (oEnd > end) later.push(o.offset < end ? { ...o, offset: end, length: oEnd - end } : o);
    }
    nodes.push(wrap(e, text.slice(begin, end), build(text, begin, end, inner, act), act));
    entities = later;
    at = end;
  }
  if (at < to) nodes.push(between(text.slice(at, to), nodes));
  return nodes;
}

// between drops the line end that follows a block, which ends its line by itself.
function between(words, nodes) {
  const block = nodes.at(-1) instanceof Element && nodes.at(-1).matches("blockquote, .codeblock");
  return block ? words.replace(/^\n/, "") : words;
}

function wrap(e, words, children, act) {
  switch (e.type) {
    case "pre": return codeBlock(e, words);
    case "code": return el("code", { title: "Click to copy", onclick: () => act.copy?.(words) }, ...children);
    case "spoiler": {
      const s = el("span", { class: "spoiler", tabindex: 0, role: "button", "aria-label": "Hidden text" }, ...children);
      s.addEventListener("click", () => { s.classList.add("open"); s.removeAttribute("aria-label"); });
      s.addEventListener("keydown", (ev) => { if (ev.key === "Enter") s.click(); });
      return s;
    }
    case "expandable_blockquote": return expandable(children);
    case "text_link": return link(e.url, children);
    case "url": return link(words, children);
    case "email": return link("mailto:" + words, children);
    case "text_mention":
    case "mention":
    case "hashtag":
    case "cashtag": return el("span", { class: "tag" }, ...children);
    case "bot_command":
      return el("button", { class: "tag", type: "button", onclick: () => act.command?.(words) }, ...children);
    case "date_time":
      return el("time", { title: new Date(e.unix_time * 1000).toLocaleString() }, ...children);
  }
  return plain[e.type] ? el(plain[e.type], {}, ...children) : el("span", {}, ...children);
}

function link(address, children) {
  const href = safeLink(address);
  return href ? el("a", { href, target: "_blank", rel: "noopener noreferrer", title: href }, ...children) : el("span", {}, ...children);
}

function codeBlock(e, words) {
  const button = el("button", { type: "button", class: "copy", "aria-label": "Copy the code" }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copy(words)) ? "Copied" : "Press Ctrl+C";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  const head = el("div", { class: "codehead" }, el("span", {}, e.language || "code"), button);
  return el("div", { class: "codeblock" }, head, el("pre", {}, el("code", {}, ...(e.language === "diff" ? diff(words) : [words]))));
}

// diff colours the lines of a unified diff.
function diff(words) {
  const kinds = [[/^(---|\+\+\+|@@)/, "hunk"], [/^\+/, "added"], [/^-/, "removed"]];
  return words.split(/(?<=\n)/).map((line) => {
    const kind = kinds.find(([form]) => form.test(line));
    return kind ? el("span", { class: kind[1] }, line) : line;
  });
}

function expandable(children) {
  const quote = el("blockquote", { class: "expandable" }, el("div", {}, ...children));
  const more = el("button", { type: "button", class: "more" }, "Show more");
  more.addEventListener("click", () => {
    more.textContent = quote.classList.toggle("open") ? "Show less" : "Show more";
  });
  quote.append(more);
  return quote;
}

// copy puts words on the clipboard and tells whether that worked.
export async function copy(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    return false;
  }
}
