// The lower part: what is being written, in reply to what, with which files, and the command menu.

import { size, words } from "./message.js";
import { el } from "./text.js";

const $ = (id) => document.getElementById(id);
const touch = matchMedia("(pointer: coarse)");

export class Composer {
  constructor(host) {
    this.host = host;
    this.replyTo = null;
    this.editing = null;
    this.files = [];
    this.picked = 0;
    const input = $("input");
    input.addEventListener("input", () => this.changed());
    input.addEventListener("keydown", (ev) => this.key(ev));
    input.addEventListener("paste", (ev) => {
      if (ev.clipboardData.files.length > 0) {
        ev.preventDefault();
        this.attach(ev.clipboardData.files);
      }
    });
    $("composer").addEventListener("submit", (ev) => { ev.preventDefault(); this.submit(); });
    $("menu").addEventListener("click", () => { this.fill(input.value.startsWith("/") ? "" : "/"); });
    $("attach").addEventListener("click", () => $("file").click());
    $("file").addEventListener("change", () => { this.attach($("file").files); $("file").value = ""; });
    $("context").querySelector(".close").addEventListener("click", () => this.plain());
    this.drops();
  }

  focus() { if (!touch.matches) $("input").focus({ preventScroll: true }); }

  fill(text) {
    $("input").value = text;
    this.changed();
    $("input").focus();
  }

  changed() {
    const input = $("input");
    input.style.height = "auto";
    input.style.height = Math.min(input.scrollHeight, 200) + "px";
    $("send").disabled = input.value.trim() === "" && this.files.length === 0;
    this.picked = 0;
    this.setCommands();
  }

  key(ev) {
    const open = !$("commands").hidden;
    if (open && (ev.key === "ArrowDown" || ev.key === "ArrowUp")) {
      ev.preventDefault();
      this.picked += ev.key === "ArrowDown" ? 1 : -1;
      this.setCommands();
    } else if (open && ev.key === "Tab") {
      ev.preventDefault();
      this.fill($("commands").querySelector("[aria-selected=true]").dataset.command + " ");
    } else if (ev.key === "Enter" && !ev.shiftKey && !ev.isComposing && !touch.matches) {
      ev.preventDefault();
      const picked = open && $("commands").querySelector("[aria-selected=true]");
      if (picked) this.run(picked.dataset.command);
      else this.submit();
    } else if (ev.key === "Escape") {
      if (open) this.fill("");
      else this.plain();
    } else if (ev.key === "ArrowUp" && $("input").value === "") {
      const last = this.host.lastOwn();
      if (last) {
        ev.preventDefault();
        this.edit(last);
      }
    }
  }

  run(command) {
    this.fill("");
    this.host.send(command);
  }

  async submit() {
    const text = $("input").value.trim();
    const { replyTo, editing, files } = this;
    if (text === "" && files.length === 0) return;
    const plain = $("files").querySelector("input")?.checked ?? false;
    $("input").value = "";
    this.files = [];
    this.drawFiles();
    this.plain();
    if (editing) await this.host.edit(editing.message_id, text);
    else if (files.length > 0) await this.host.upload(files, text, plain, replyTo?.message_id);
    else await this.host.send(text, replyTo?.message_id);
    this.focus();
  }

  // plain goes back to writing a new message.
  plain() {
    if (this.editing) $("input").value = "";
    this.replyTo = this.editing = null;
    $("context").hidden = true;
    this.changed();
  }

  reply(m) {
    this.editing = null;
    this.replyTo = m;
    this.context("Reply to " + (m.from?.first_name ?? ""), words(m));
  }

  edit(m) {
    this.replyTo = null;
    this.editing = m;
    this.fill(m.text || m.caption);
    this.context("Edit message", words(m));
  }

  context(title, line) {
    $("context").querySelector("b").textContent = title;
    $("context").querySelector("p").textContent = line;
    $("context").hidden = false;
    $("input").focus();
  }

  // setCommands shows the commands that begin with what is typed.
  setCommands() {
    const all = this.host.commands();
    $("menu").hidden = all.length === 0;
    const typed = $("input").value;
    const fits = /^\/\w*$/.test(typed) ? all.filter((c) => ("/" + c.command).startsWith(typed.toLowerCase())) : [];
    $("commands").hidden = fits.length === 0;
    this.picked = (this.picked + fits.length) % Math.max(fits.length, 1);
    $("commands").replaceChildren(...fits.map((c, i) => el("button", {
      type: "button", role: "option", "data-command": "/" + c.command, "aria-selected": String(i === this.picked),
      onclick: () => this.run("/" + c.command),
    }, el("b", {}, "/" + c.command), el("span", {}, c.description))));
    $("commands").querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }

  // setReplies shows the keyboard that the bot put in place of letters.
  setReplies(replies) {
    $("input").placeholder = replies?.placeholder || "Message";
    $("replies").hidden = !replies?.rows;
    $("replies").replaceChildren(...(replies?.rows ?? []).map((row) => el("div", {}, ...row.map((text) =>
      el("button", { type: "button", class: "key", onclick: () => this.host.send(text) }, text)))));
  }

  // setSuggestions shows texts to send with a tap.
  setSuggestions(all = []) {
    const shown = all.join("\n");
    $("suggest").hidden = all.length === 0;
    if ($("suggest").dataset.shown === shown) return; // a row that is scrolled stays so
    $("suggest").dataset.shown = shown;
    $("suggest").replaceChildren(...all.map((text) => el("button", { type: "button", onclick: () => this.host.send(text) }, text)));
  }

  attach(list) {
    this.files.push(...list);
    this.drawFiles();
    $("input").focus();
  }

  drawFiles() {
    const box = $("files");
    box.hidden = this.files.length === 0;
    const chips = this.files.map((f, i) => el("span", { class: "chip" }, el("b", {}, f.name), el("small", {}, size(f.size)),
      el("button", { type: "button", class: "icon close", "aria-label": "Remove " + f.name, onclick: () => { this.files.splice(i, 1); this.drawFiles(); } })));
    const visual = this.files.some((f) => /^(image|video)\//.test(f.type));
    const asFiles = visual ? [el("label", {}, el("input", { type: "checkbox" }), "Send as files")] : [];
    box.replaceChildren(...chips, ...asFiles);
    this.changed();
  }

  drops() {
    let depth = 0;
    const files = (ev) => [...(ev.dataTransfer?.types ?? [])].includes("Files");
    addEventListener("dragenter", (ev) => { if (files(ev)) { depth++; $("drop").hidden = false; } });
    addEventListener("dragleave", (ev) => { if (files(ev) && --depth <= 0) $("drop").hidden = true; });
    addEventListener("dragover", (ev) => { if (files(ev)) ev.preventDefault(); });
    addEventListener("drop", (ev) => {
      if (!files(ev)) return;
      ev.preventDefault();
      depth = 0;
      $("drop").hidden = true;
      this.attach(ev.dataTransfer.files);
    });
  }
}
