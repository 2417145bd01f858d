// The tree on the page, as ARIA describes trees: one item has the focus, and keys go to others.

import { all, label, same } from "/nodes.js";

const closed = new Set();
let marks = 0;
const name = (path) => JSON.stringify(path);

/** Draws the tree; `selected` has the focus if the tree had it. */
export function draw(list, top, selected, problems) {
  const focused = list.contains(document.activeElement);
  list.replaceChildren(item(top, 1, selected, problems));
  if (focused) focus(list, selected);
}

function item(each, level, selected, problems) {
  const made = document.createElement("li");
  const chosen = same(each.path, selected);
  const attributes = { role: "treeitem", "aria-level": level, "aria-selected": chosen, tabindex: chosen ? 0 : -1 };
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.dataset.path = name(each.path);
  made.draggable = Boolean(each.slot);
  made.append(row(each));
  const own = problems.filter(({ at }) => same(at, each.path));
  if (own.length) made.append(wrong(made, own));
  made.setAttribute("aria-label", label(each).filter(Boolean).join(", "));
  if (each.children.length) made.append(group(made, each, level, selected, problems));
  return made;
}

function row(each) {
  const [title, more] = label(each);
  const made = document.createElement("span");
  made.className = "row";
  const small = document.createElement("small");
  small.textContent = more;
  made.append(`${title} `, small);
  return made;
}

function wrong(owner, problems) {
  const made = document.createElement("span");
  made.className = "wrong";
  made.id = `wrong-${(marks += 1)}`;
  made.textContent = problems.map(({ text }) => text).join("\n");
  owner.setAttribute("aria-invalid", "true");
  owner.setAttribute("aria-describedby", made.id);
  return made;
}

function group(owner, each, level, selected, problems) {
  const made = document.createElement("ul");
  made.setAttribute("role", "group");
  made.append(...each.children.map((child) => item(child, level + 1, selected, problems)));
  owner.setAttribute("aria-expanded", !closed.has(name(each.path)));
  return made;
}

export function focus(list, path) {
  list.querySelector(`[data-path='${CSS.escape(name(path))}']`)?.focus();
}

/** The path of the item that an element of the tree belongs to. */
export function pathOf(element) {
  const found = element.closest("[role=treeitem]");
  return found ? JSON.parse(found.dataset.path) : undefined;
}

/** Shows or hides what is in an item. */
export function toggle(path, open = closed.has(name(path))) {
  if (open) closed.delete(name(path));
  else closed.add(name(path));
}

const visible = (each) => !each.parent || (!closed.has(name(each.parent.path)) && visible(each.parent));

/** The node to which a key goes from another; undefined where it goes nowhere. */
export function next(top, from, key) {
  const shown = all(top).filter(visible);
  const at = shown.indexOf(from);
  const open = from.children.length > 0 && !closed.has(name(from.path));
  const targets = {
    ArrowUp: shown[at - 1],
    ArrowDown: shown[at + 1],
    Home: shown[0],
    End: shown.at(-1),
    ArrowLeft: open ? undefined : from.parent,
    ArrowRight: open ? from.children[0] : undefined,
  };
  return targets[key] ?? undefined;
}
