// The page: shows the state of the file, and turns keys, clicks and drags into edits.

import { additions, all, beside, inside, moved, nearest, node, wrapping } from "/nodes.js";
import { begun } from "/schema.js";
import { act, schema as loadSchema } from "/requests.js";
import { draw, focus, next, pathOf, toggle } from "/tree.js";
import { fill, plain } from "/form.js";

const at = (id) => document.getElementById(id);
window.addEventListener("hashchange", () => location.reload()); // another token
const schema = await loadSchema().catch((error) => {
  at("problem").textContent = error.message;
  throw error;
});
let state;
let top;
let selected = [];

let last = Promise.resolve();

/** Asks the server for an action, after those before it. */
function ask(action, body) {
  last = last.then(() => answer(action, body));
  return last;
}

/** Shows the server's answer, or why it refuses. */
async function answer(action, body) {
  try {
    state = await act(action, body);
    if (state.selected) selected = state.selected;
    at("status").textContent = action === "save" ? "Saved." : "";
    show();
  } catch (error) {
    at("status").textContent = "";
    at("problem").textContent = error.message;
  }
}

const edit = (kind, path, more) => ask("edit", [{ edit: kind, path, ...more }]);

function current() {
  return nearest(top, selected);
}

function problemOf(found) {
  const path = found.path.filter((step) => step !== -1);
  const text = found.fix ? `${found.message}; ${found.fix}` : found.message;
  return { path, at: nearest(top, path).path, text, place: found.place };
}

function show() {
  top = node(schema, schema, state.values);
  selected = current().path;
  const problems = state.problems.map(problemOf);
  at("file").textContent = `${state.changed ? "● " : ""}${state.file}`;
  at("undo").disabled = !state.undo;
  at("redo").disabled = !state.redo;
  at("problem").textContent = problems.map(({ place, text }) => `${place}: ${text}`).join("\n");
  at("text").textContent = state.text;
  draw(at("tree"), top, selected, problems);
  showAttributes(problems);
}

function showAttributes(problems) {
  const each = current();
  const field = at("form").contains(document.activeElement) ? document.activeElement.id : "";
  at("about").textContent = plain(each.definition.description).split("\n\n")[0];
  fill(at("form"), schema, each, problems, change);
  if (each.slot?.form === "named") at("form").prepend(renaming(each));
  if (field) at(field)?.focus();
  const options = additions(schema, each).map(({ title }, number) => new Option(title, number));
  at("kind").replaceChildren(...options);
}

/** The name of a shared task, which is its key. */
function renaming(each) {
  const made = document.createElement("div");
  made.className = "field";
  const control = Object.assign(document.createElement("input"), { id: "field-key", value: each.path.at(-1) });
  const text = Object.assign(document.createElement("label"), { htmlFor: "field-key", textContent: "name in tasks" });
  const target = () => [...each.path.slice(0, -1), control.value];
  control.addEventListener("change", () => edit("move", each.path, { target: target() }));
  made.append(text, control);
  return made;
}

function change(path, value) {
  return value === undefined ? edit("remove", path) : edit("set", path, { value });
}

function select(path) {
  selected = path;
  show();
  focus(at("tree"), selected);
}

const chosen = () => additions(schema, current())[Number(at("kind").value)];

async function wrap() {
  const { kind } = chosen();
  const edits = wrapping(schema, current(), kind, begun(schema, kind, state.values));
  if (edits.length) await ask("edit", edits);
  focus(at("tree"), selected);
}

async function add() {
  const { path, kind } = chosen();
  await edit("insert", path, { value: begun(schema, kind, state.values) });
  focus(at("tree"), selected);
}

async function remove() {
  const each = current();
  if (!each.slot) return;
  const shown = all(top);
  const before = shown[shown.indexOf(each) - 1].path;
  await edit("remove", each.path);
  select(before);
}

const editing = {
  Delete: remove,
  a: () => at("kind").focus(),
  Enter: () => at("form").querySelector("input, select, textarea")?.focus(),
};

function onTreeKey(event) {
  const { altKey, ctrlKey, metaKey } = event;
  const key = event.key === "A" ? "a" : event.key;
  if (ctrlKey || metaKey) return;
  const arrow = key.startsWith("Arrow") || key === "Home" || key === "End";
  if (!arrow && !Object.hasOwn(editing, key)) return;
  event.preventDefault();
  if (altKey && key.startsWith("Arrow")) move(moved(current(), key));
  else if (arrow) go(key);
  else editing[key]();
}

function move(target) {
  if (target) edit("move", current().path, { target });
}

function go(key) {
  const from = current();
  const to = next(top, from, key);
  if (to) select(to.path);
  else if (key === "ArrowLeft" || key === "ArrowRight") {
    toggle(from.path, key === "ArrowRight");
    select(from.path);
  }
}

function fold(path) {
  if (!path) return;
  toggle(path);
  select(path);
}

const shortcuts = { s: "save", z: "undo", y: "redo", Z: "redo" };

function onKey(event) {
  if (event.key === "Escape") focus(at("tree"), selected);
  if (!(event.ctrlKey || event.metaKey) || !Object.hasOwn(shortcuts, event.key)) return;
  const field = event.target.matches("input:not([type=checkbox]), textarea") ? event.target : null;
  if (field && event.key !== "s") return; // a field undoes its own typing
  event.preventDefault();
  if (field) finish(field);
  ask(shortcuts[event.key]);
}

/** Lets a field report its change, and keeps the focus. */
function finish(field) {
  field.blur();
  field.focus();
}

/** Where a drop on a row puts a node: before, after or inside it, by the height of the pointer. */
function dropPlace(event) {
  const row = event.target.closest(".row");
  const path = row && pathOf(row);
  if (!path) return undefined;
  const each = nearest(top, path);
  const { top: above, height } = row.getBoundingClientRect();
  const part = (event.clientY - above) / height;
  const name = part < 0.3 ? "before" : part > 0.7 ? "after" : "inside";
  const [place] = { before: beside(each, 0), after: beside(each, 1), inside: inside(each) }[name];
  return place && { name, item: row.parentElement, path: place.path };
}

function unmark() {
  for (const each of at("tree").querySelectorAll("[role=treeitem]")) each.classList.remove("before", "after", "inside");
}

function onClick(event) {
  const path = pathOf(event.target);
  if (path) select(path);
}

function onDragStart(event) {
  selected = pathOf(event.target);
  event.dataTransfer.setData("text/plain", "");
}

function onDragOver(event) {
  unmark();
  const place = dropPlace(event);
  if (!place) return;
  event.preventDefault();
  place.item.classList.add(place.name);
}

function onDrop(event) {
  event.preventDefault();
  unmark();
  const place = dropPlace(event);
  if (place) edit("move", selected, { target: place.path });
}

function wire() {
  for (const action of ["save", "undo", "redo", "reload"]) at(action).addEventListener("click", () => ask(action));
  at("adding").addEventListener("submit", (event) => { event.preventDefault(); add(); });
  at("wrap").addEventListener("click", wrap);
  at("kind").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); add(); } });
  at("form").addEventListener("submit", (event) => event.preventDefault());
  at("tree").addEventListener("keydown", onTreeKey);
  at("tree").addEventListener("click", onClick);
  at("tree").addEventListener("dblclick", (event) => fold(pathOf(event.target)));
  at("tree").addEventListener("dragstart", onDragStart);
  at("tree").addEventListener("dragover", onDragOver);
  at("tree").addEventListener("drop", onDrop);
  document.addEventListener("keydown", onKey);
  window.addEventListener("beforeunload", (event) => { if (state?.changed) event.preventDefault(); });
}

wire();
await ask("state");
focus(at("tree"), selected);
