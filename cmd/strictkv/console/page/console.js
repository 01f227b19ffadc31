// The console. What comes from the database goes into the page as text nodes only, with what is
// not to be seen, or changes the direction of writing, escaped.
const $ = id => document.getElementById(id);
const invisible = /[^\P{C}\n\t]|[\u2028\u2029]/gu;
const visible = text => String(text).replace(invisible,
  c => "\\u{" + c.codePointAt(0).toString(16).padStart(4, "0") + "}");

// el makes an element; its children are elements, or text.
function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) e.setAttribute(name, value);
  }
  e.append(...children.flat(Infinity).map(c => c instanceof Node ? c : visible(c)));
  return e;
}

// The address has the state: the view, the collection, prefix and page, and the key.
const state = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const hash = fields => "#" + new URLSearchParams(
  Object.entries(fields).filter(([, value]) => value));
const go = fields => { location.hash = hash(fields); };

function complain(error, at = $("error")) {
  at.hidden = !error || error.name === "AbortError";
  at.textContent = error ? visible(error.message ?? error) : "";
}

async function ask(path, query, options) {
  const response = await fetch("api/" + path + "?" + new URLSearchParams(query ?? {}), options);
  if (response.ok) return response;
  const text = await response.text();
  let error = text;
  try { error = JSON.parse(text).error; } catch { /* it is no JSON */ }
  throw new Error(error);
}
const get = async (path, query) => (await ask(path, query)).json();
const post = (path, body, options) =>
  ask(path, {}, { method: "POST", body: JSON.stringify(body), ...options });

// Browse.
let listed = "", pages = {}, writes = false, turn = 0;

async function browse(s) {
  const mine = ++turn;
  const page = { collection: s.collection ?? "", prefix: s.prefix ?? "", after: s.after ?? "" };
  if (listed !== JSON.stringify(page)) {
    const l = await get("list", page);
    if (mine !== turn) return;
    listed = JSON.stringify(page);
    list(l, page);
  }
  for (const a of $("list").querySelectorAll("a")) {
    if (a.dataset.key === s.key) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  }
  $("browse").classList.toggle("open", s.key !== undefined);
  if (s.key === undefined) {
    $("detail").replaceChildren(el("p", { class: "empty" }, "Choose a key to see what it holds."));
    return;
  }
  const back = el("a", { id: "back", href: hash(page) }, "← Keys");
  let content;
  try {
    content = detail(await get("key", s), s);
  } catch (error) {
    content = [el("h2", { class: "mono" }, s.key), el("p", { class: "empty" }, error.message)];
  }
  if (mine === turn) $("detail").replaceChildren(back, ...content);
}

function head(answer) {
  writes = answer.write;
  $("database").textContent = visible(answer.database);
  $("mode").textContent = writes ? "can write" : "read-only";
  $("mode").classList.toggle("write", writes);
  $("new").hidden = !writes;
}

function list(l, page) {
  head(l);
  $("prefix").value = page.prefix;
  $("filter").hidden = $("pages").hidden = !page.collection;
  const crumbs = [el("a", { href: "#" }, "collections")];
  for (const c of l.crumbs) crumbs.push(" / ", el("a", { href: hash({ collection: c.path }) }, c.name));
  $("crumbs").replaceChildren(...crumbs);
  const links = l.collections.map(c =>
    el("li", {}, el("a", { class: "mono", href: hash({ collection: c.path }) }, c.name + "/")));
  $("collections").replaceChildren(...(links.length ? [el("ul", {}, links)] : []),
    ...(l.cut ? [el("p", { class: "soft" }, "There are more collections than are shown.")] : []));
  const keys = l.keys.map(key => el("li", {}, el("a",
    { class: "mono", "data-key": key, href: hash({ ...page, key }) }, key)));
  const nothing = page.collection ? "No keys here." : "No collections yet.";
  $("list").replaceChildren(...(keys.length ? [el("ul", {}, keys)] :
    page.collection || !links.length ? [el("p", { class: "empty" }, nothing)] : []));
  $("previous").disabled = !page.after;
  $("next").disabled = !l.next;
  const next = { ...page, after: l.keys.at(-1) };
  $("next").onclick = () => { pages[hash(next)] = page; go(next); };
  $("previous").onclick = () => go(pages[hash(page)] ?? { ...page, after: "" });
}

// detail is what is shown of a key.
function detail(found, s) {
  const v = found.value;
  const bytes = Uint8Array.from(atob(v?.data ?? ""), c => c.charCodeAt(0));
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const cut = v && bytes.length < v.size;
  // What can't be seen, or is no text, would not be the same after an edit.
  const editable = v && !cut && visible(text) === text && !text.includes("\ufffd");
  const query = new URLSearchParams({ collection: s.collection, key: s.key });
  const pane = el("div");
  const views = {};
  if (v) {
    const json = cut ? undefined : pretty(text);
    if (json !== undefined) views.JSON = () => el("pre", { tabindex: 0 }, json);
    if (v.image) views.Image = () => el("img", { alt: "The value", src: "api/value?as=image&" + query });
    views.Text = () => el("pre", { tabindex: 0 }, text);
    views.Hex = () => el("pre", { class: "hex", tabindex: 0 }, hex(bytes));
  }
  const order = ["object", "object_version", "value", "recent", "intent", "current", "marks"];
  views.Cell = () => fields(found.cell ?? {}, order);
  const tabs = Object.entries(views).map(([name, view]) => el("button", {
    onclick: e => {
      for (const t of tabs) t.setAttribute("aria-pressed", t === e.target);
      pane.replaceChildren(view(),
        ...(cut && (name === "Text" || name === "Hex") ? [el("p", { class: "soft" },
          `These are the first ${bytes.length} of ${v.size} bytes.`)] : []));
    },
  }, name));
  tabs[0].click();
  const facts = v ? [`${v.size} bytes`, ...(v.expires ? ["expires " + v.expires] : [])] : ["no value"];
  const actions = [];
  if (v) actions.push(el("a", { class: "button", href: "api/value?" + query, download: "value" }, "Download"));
  if (editable && writes) actions.push(el("button", { onclick: () => edit(s, text, v.version) }, "Edit"));
  if (v && writes) {
    actions.push(el("button", { class: "danger", onclick: () => edit(s, null, v.version) }, "Delete"));
  }
  return [
    el("h2", { class: "mono" }, found.key), el("p", { class: "soft" }, facts.join(" · ")),
    ...(found.error ? [el("p", { role: "alert" }, found.error)] : []),
    el("div", { class: "actions" }, actions),
    el("div", { class: "tabs", role: "group", "aria-label": "Show as" }, tabs), pane,
  ];
}

// pretty has each element of JSON on a line of its own; numbers stay as they were written. It is
// undefined for anything else. Lines stop moving to the right, as some would do that for ever.
function pretty(text) {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try { JSON.parse(text); } catch { return undefined; }
  let depth = 0;
  const line = () => "\n" + "  ".repeat(Math.min(depth, 30));
  return text.replace(/"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],:]|\s+/g, t => {
    if (t === "{" || t === "[") return ++depth, t + line();
    if (t === "}" || t === "]") return --depth, line() + t;
    return t === "," ? t + line() : t === ":" ? ": " : t.trim();
  });
}

function hex(bytes) {
  const rows = [], width = innerWidth < 760 ? 8 : 16;
  for (let i = 0; i < bytes.length; i += width) {
    const row = [...bytes.slice(i, i + width)];
    const digits = row.map(b => b.toString(16).padStart(2, "0")).join(" ").padEnd(3 * width - 1);
    const print = row.map(b => b > 31 && b < 127 ? String.fromCharCode(b) : ".").join("");
    rows.push(i.toString(16).padStart(6, "0") + "  " + digits + "  " + print);
  }
  return rows.join("\n");
}

// fields shows an object as a list of its fields, those first that come first in the order.
function fields(o, order = []) {
  const place = ([name]) => (order.indexOf(name) + order.length + 1) % (order.length + 1);
  return el("dl", {}, Object.entries(o).sort((a, b) => place(a) - place(b)).map(([name, value]) => [
    el("dt", {}, name.replaceAll("_", " ")),
    el("dd", {}, [value].flat().map(x => el("div", {}, x instanceof Object ? fields(x) : x))),
  ]));
}

// edit asks for a value to put, or, if text is null, whether to delete.
function edit(s, text, version) {
  const deletes = text === null, e = $("edit");
  $("edit-title").textContent = deletes ? "Delete this key?" : version ? "Change the value" : "New key";
  $("edit-collection").value = s.collection ?? "";
  $("edit-key").value = s.key ?? "";
  $("edit-collection").readOnly = $("edit-key").readOnly = version !== undefined;
  $("edit-value").value = text ?? "";
  $("edit-value").hidden = $("edit-label").hidden = deletes;
  $("edit-do").textContent = deletes ? "Delete" : "Save";
  complain(null, $("edit-error"));
  $("edit-cancel").onclick = () => e.close();
  e.querySelector("form").onsubmit = async event => {
    event.preventDefault();
    const collection = $("edit-collection").value, key = $("edit-key").value;
    const bytes = new TextEncoder().encode($("edit-value").value);
    const value = deletes ? undefined : btoa(Array.from(bytes, b => String.fromCharCode(b)).join(""));
    try {
      await post("change", { collection, key, version, value });
    } catch (error) {
      complain(error, $("edit-error"));
      return;
    }
    e.close();
    listed = "";
    const to = hash({ ...s, collection, key: deletes ? "" : key });
    if (location.hash === to) show(); else location.hash = to;
  };
  $("edit-do").classList.toggle("danger", deletes);
  e.showModal();
  $(deletes ? "edit-cancel" : version ? "edit-value" : s.collection ? "edit-key" : "edit-collection").focus();
}

// Activity.
let timer = 0;

async function activity() {
  clearTimeout(timer);
  let a;
  try {
    a = await get("activity");
  } finally {
    if (state().view === "activity") timer = setTimeout(show, 1000);
  }
  head(a);
  const stats = ["committed", "read_only", "failed", "gets", "puts", "lists", "resent", "cache_hits"];
  $("tiles").replaceChildren(...stats.map(name => el("div", { class: "card tile" },
    el("b", {}, (a.stats[name] ?? 0).toLocaleString("en")),
    el("span", { class: "soft" }, name.replaceAll("_", " ")))));
  const s = a.seconds ?? [];
  $("charts").replaceChildren(
    chart("Requests to the store, a second", s, { requests: "all", failed: "failed" }, ""),
    chart("How long requests take", s, { p50: "half of them", p99: "99 of 100" }, " ms"),
    chart("Transactions, a second", s, { commits: "committed", retries: "run again, by conflicts" }, ""));
  const keys = a.keys ?? [];
  if ($("hot").contains(document.activeElement)) return; // it would lose the focus
  $("hot").replaceChildren(keys.length ? table(["key", "requests", "refused"], keys.map(k => [
    el("a", { href: hash({ collection: k.collection, key: k.key }) }, k.collection + " " + k.key),
    k.requests, k.refused])) : el("p", { class: "empty" }, "No key has been asked for yet."));
}

function table(heads, rows) {
  const cell = (tag, x, i) => el(tag, { class: i ? "number" : "" }, x);
  return el("table", {}, el("tr", {}, heads.map((h, i) => cell("th", h, i))),
    rows.map(r => el("tr", {}, r.map((x, i) => cell("td", x, i)))));
}

// chart draws two lines, from the oldest second on.
function chart(title, seconds, lines, unit) {
  const most = Math.max(unit ? 0.1 : 1, ...Object.keys(lines).flatMap(n => seconds.map(s => s[n])));
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${seconds.length - 1} 100`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const number = x => (x ?? 0).toLocaleString("en", { maximumSignificantDigits: 3 }) + unit;
  const legend = Object.entries(lines).map(([name, label], i) => {
    const line = document.createElementNS(svg.namespaceURI, "polyline");
    line.setAttribute("points", seconds.map((s, x) => `${x},${98 - 96 * s[name] / most}`).join(" "));
    line.setAttribute("class", i ? "second" : "first");
    svg.append(line);
    const peak = Math.max(0, ...seconds.map(s => s[name]));
    return el("div", {}, el("span", { class: i ? "second" : "first" }, label),
      el("span", { class: "soft" }, ` ${number(seconds.at(-2)?.[name])} now, ${number(peak)} at most`));
  });
  return el("section", { class: "card" }, el("h2", {}, title), svg, legend);
}

// Upkeep.
let abort;

$("work").onsubmit = async event => {
  event.preventDefault();
  const task = new FormData($("work")).get("task");
  abort = new AbortController();
  $("start").disabled = !($("cancel").disabled = $("progress").hidden = false);
  $("objects").textContent = "";
  $("report").hidden = true;
  complain(null);
  try {
    const { signal } = abort, body = { task, collection: $("where").value };
    const reader = (await post("work", body, { signal })).body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = "", part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop();
      for (const line of lines) progress(JSON.parse(line), task);
    }
  } catch (error) {
    complain(error);
  }
  $("start").disabled = !($("cancel").disabled = $("progress").hidden = true);
};

function progress(line, task) {
  if (line.objects !== undefined) $("objects").textContent = line.objects.toLocaleString("en") + " objects";
  if (line.error) complain(line.error);
  if (!line.report) return;
  const { problems, ...counts } = line.report;
  const verdict = task === "sweep" ? "What a sweep would do" :
    line.problems ? `${line.problems} problems` : line.error ? "Not carried through" : "No problems";
  $("report").replaceChildren(el("h2", {}, verdict), fields(counts),
    ...(problems ?? []).map(p => el("p", { class: "mono" }, `${p.object}: ${p.what}`)));
  $("report").hidden = false;
}

$("cancel").onclick = () => abort.abort();
$("filter").onsubmit = e => {
  e.preventDefault();
  go({ collection: state().collection, prefix: $("prefix").value });
};
$("new").onclick = () => edit({ collection: state().collection }, "");

async function show() {
  const s = state(), view = s.view ?? "browse";
  for (const m of document.querySelectorAll("main")) m.hidden = m.id !== view;
  for (const a of document.querySelectorAll("[data-view]")) {
    if (a.dataset.view === view) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  try {
    if (view === "activity") await activity();
    else if (view === "browse") await browse(s);
    complain(null);
  } catch (error) {
    complain(error);
  }
}
addEventListener("hashchange", show);
show();
