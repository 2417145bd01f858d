// The attributes of the selected node: a field for each key that its schema has.

import { same } from "/nodes.js";
import { attributes, resolved } from "/schema.js";

/** Fills the form; `change(path, value)` is called with undefined where a value is removed. */
export function fill(form, schema, each, problems, change) {
  const path = each.path;
  const fields = attributes(schema, each.definition).map((one) =>
    field(schema, one, each.value?.[one.key], [...path, one.key], problems, change));
  form.replaceChildren(...fields);
}

/** A description without the marks of its format. */
export const plain = (text) => (text ?? "").replaceAll("``", "");

function field(schema, one, value, path, problems, change) {
  const { part, key } = one;
  if (part.properties) return nested(schema, one, value, path, problems, change);
  if (part.type === "array" && resolved(schema, part.items).enum) return choices(schema, one, value, path, change);
  const made = document.createElement("div");
  made.className = "field";
  const control = input(schema, one, value);
  control.id = `field-${path.slice(-2).join("-")}`;
  control.name = key;
  const text = document.createElement("label");
  text.htmlFor = control.id;
  text.textContent = one.required ? `${key} (required)` : key;
  made.append(text, control, ...help(control, part), ...mark(control, path, problems));
  control.addEventListener("change", () => change(path, read(schema, one, control.value)));
  return made;
}

function help(control, part) {
  const standard = shown(part.default);
  const lines = [plain(part.description), standard && `Default: ${standard}.`].filter(Boolean);
  if (!lines.length) return [];
  const made = document.createElement("small");
  made.id = `${control.id}-help`;
  made.textContent = lines.join(" ");
  control.setAttribute("aria-describedby", made.id);
  return [made];
}

function mark(control, path, problems) {
  const own = problems.filter((each) => same(each.path.slice(0, path.length), path));
  if (!own.length) return [];
  control.setAttribute("aria-invalid", "true");
  const made = document.createElement("span");
  made.className = "wrong";
  made.textContent = own.map(({ text }) => text).join("\n");
  return [made];
}

function input(schema, { part }, value) {
  if (part.enum) return select(part.enum, value);
  const long = part.contentMediaType || (typeof value === "string" && value.includes("\n"));
  const made = document.createElement(long ? "textarea" : "input");
  if (long) made.rows = 6;
  made.spellcheck = false;
  made.value = shown(value);
  return made;
}

function shown(value) {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(shown).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function select(values, value) {
  const made = document.createElement("select");
  const known = values.includes(value) || value === undefined || value === null ? values : [value, ...values];
  made.append(new Option("", ""), ...known.map((each) => new Option(each, each)));
  made.value = value ?? "";
  return made;
}

/** The value that a text stands for, undefined for none; the checker refuses a text where a number should be. */
function read(schema, { part, required }, text) {
  if (text === "") return required && part.type === "string" ? "" : undefined;
  if (part.type === "array") {
    const items = resolved(schema, part.items);
    return text.split(",").map((each) => each.trim()).filter(Boolean).map((each) => scalar(items, each));
  }
  return scalar(part, text);
}

function scalar(part, text) {
  const number = Number(text);
  return ["integer", "number"].includes(part.type) && Number.isFinite(number) ? number : text;
}

function choices(schema, { key, part }, value, path, change) {
  const made = framed(key, part);
  const chosen = Array.isArray(value) ? value : [];
  for (const each of resolved(schema, part.items).enum) {
    const box = document.createElement("input");
    Object.assign(box, { type: "checkbox", id: `field-${key}-${each}`, name: key, value: each });
    box.checked = chosen.includes(each);
    box.addEventListener("change", () => change(path, checked(made, chosen)));
    const text = document.createElement("label");
    text.append(box, ` ${each} `);
    made.append(text);
  }
  return made;
}

/** The values of the checked boxes, in the order in which they are written; undefined for none. */
function checked(owner, written) {
  const now = [...owner.querySelectorAll("input:checked")].map((box) => box.value);
  const kept = written.filter((each) => now.includes(each));
  return now.length ? [...kept, ...now.filter((each) => !kept.includes(each))] : undefined;
}

function framed(key, part) {
  const made = document.createElement("fieldset");
  made.className = "field";
  const legend = document.createElement("legend");
  legend.textContent = key;
  made.append(legend);
  const text = document.createElement("small");
  text.textContent = plain(part.description).split("\n")[0];
  made.append(text);
  return made;
}

/** Attributes of an attribute, such as a loop's `until`. */
function nested(schema, { key, part }, value, path, problems, change) {
  const made = framed(key, part);
  const present = value !== undefined && value !== null;
  const button = document.createElement("button");
  Object.assign(button, { type: "button", textContent: present ? `Remove ${key}` : `Add ${key}` });
  button.addEventListener("click", () => change(path, present ? undefined : {}));
  const fields = attributes(schema, part).map((one) =>
    field(schema, one, value?.[one.key], [...path, one.key], problems, change));
  made.append(button, ...(present ? fields : []));
  return made;
}
