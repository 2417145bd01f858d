// The tree of a task set as plain values: nodes with their paths, and the places where others may be put.

import { definition, kinds, resolved, slots } from "/schema.js";

export const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const starts = (path, prefix) => same(path.slice(0, prefix.length), prefix);

/** A node with everything in it; `slot` is what its parent holds it by. */
export function node(schema, part, value, path = [], parent = null, slot = null) {
  const own = definition(schema, part, value);
  const made = { path, value, parent, slot, definition: own, slots: slots(schema, own), children: [] };
  for (const each of made.slots) {
    for (const [step, child] of held(each, value?.[each.key])) {
      const place = step === null ? [...path, each.key] : [...path, each.key, step];
      made.children.push(node(schema, each.of, child, place, made, each));
    }
  }
  return made;
}

function held(slot, value) {
  if (value === null || typeof value !== "object") return [];
  if (slot.form === "one") return [[null, value]];
  return slot.form === "list" ? (Array.isArray(value) ? [...value.entries()] : []) : Object.entries(value);
}

/** A node and all in it, in the order of the page. */
export function all(top) {
  return [top, ...top.children.flatMap(all)];
}

/** The deepest node that a path leads into. */
export function nearest(top, path) {
  return all(top).filter((each) => starts(path, each.path)).at(-1) ?? top;
}

/** What a node is called: its kind, its name and its main numbers. */
export function label(each) {
  const { path, value, slot } = each;
  if (!slot) return ["task set", value.name ?? ""];
  const key = slot.form === "named" ? `${path.at(-1)}: ` : "";
  return [`${key}${value?.do ?? "machine task set"}`, [value?.name, details(value)].filter(Boolean).join(" · ")];
}

function details(value) {
  const shown = ["kernel", "demand_ms", "count", "duration_ms", "machine", "peer", "task"];
  const texts = shown.filter((key) => ["string", "number"].includes(typeof value?.[key]));
  const sensors = Array.isArray(value?.sensors) && value.sensors.length ? [`sensors: ${value.sensors.join(", ")}`] : [];
  return [...texts.map((key) => `${key} ${value[key]}`), ...sensors].join(", ");
}

/** The path at which a slot of a node takes one more; undefined where it is full. */
function free(owner, slot) {
  const value = owner.value?.[slot.key];
  const path = [...owner.path, slot.key];
  if (slot.form === "list") return [...path, Array.isArray(value) ? value.length : 0];
  if (slot.form === "one") return value === undefined || value === null ? path : undefined;
  let number = 1;
  while (Object.hasOwn(value ?? {}, `task${number}`)) number += 1;
  return [...path, `task${number}`];
}

/** The places inside a node, each with its slot. */
export function inside(owner) {
  return owner.slots.flatMap((slot) => {
    const path = free(owner, slot);
    return path ? [{ path, slot }] : [];
  });
}

/** The place directly after or before a node in its list, if it is in one. */
export function beside(each, offset) {
  if (each.slot?.form !== "list") return [];
  return [{ path: [...each.path.slice(0, -1), each.path.at(-1) + offset], slot: each.slot }];
}

/** What can be added at a node: inside it or, where it takes nothing, after it or its parent. */
export function additions(schema, each) {
  const places = inside(each).length ? inside(each) : beside(each, 1);
  if (!places.length) return each.parent ? additions(schema, each.parent) : [];
  return places.flatMap(({ path, slot }) => {
    const shared = slot.form === "named" ? ", shared" : "";
    return kinds(schema, slot.of).map((kind) => ({ path, kind, title: `${kind.title}${shared}` }));
  });
}

/** The edits that put a task into a new one of another kind; none where that kind has no place for it. */
export function wrapping(schema, each, kind, value) {
  const [slot] = slots(schema, kind.part);
  if (!slot || !each.slot?.of || !resolved(schema, each.slot.of).discriminator) return [];
  const inner = slot.form === "list" ? [slot.key, 0] : [slot.key];
  const { path } = each;
  const insert = { edit: "insert", path, value };
  const into = (from) => ({ edit: "move", path: from, target: [...path, ...inner] });
  if (each.slot.form === "list") return [insert, into([...path.slice(0, -1), path.at(-1) + 1])];
  const aside = [...path.slice(0, -1), `${path.at(-1)} aside`];
  return [{ edit: "move", path, target: aside }, insert, into(aside)];
}

/** Where a key moves a node: up, down, out of its parent, or into the one above it. */
export function moved(each, key) {
  const siblings = each.parent?.children.filter((other) => other.slot.key === each.slot.key) ?? [];
  const above = siblings[siblings.indexOf(each) - 1];
  const last = siblings.at(-1) === each;
  const places = {
    ArrowUp: () => (above ? beside(each, -1) : []),
    ArrowDown: () => (last ? [] : beside(each, 2)),
    ArrowLeft: () => (each.parent?.parent?.parent ? beside(each.parent, 1) : []),
    ArrowRight: () => (above ? inside(above) : []),
  };
  return each.slot ? places[key]()[0]?.path : undefined;
}
