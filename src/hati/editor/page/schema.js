// What the JSON Schema says of a task set: which keys hold tasks, which are attributes, and how each is written.

/** Follows a reference, and leaves out null where a value may be null. */
export function resolved(schema, part) {
  if (part.$ref) {
    const found = schema.$defs[part.$ref.replace("#/$defs/", "")];
    return { ...resolved(schema, found), ...described(part) };
  }
  const others = (part.anyOf ?? []).filter((each) => each.type !== "null");
  if (!part.discriminator && others.length === 1) return { ...resolved(schema, others[0]), ...described(part) };
  return part;
}

function described(part) {
  const own = {};
  for (const key of ["description", "default"]) if (key in part) own[key] = part[key];
  return own;
}

/** The definition of a value: of its kind of task, or the only one that a place allows. */
export function definition(schema, part, value) {
  const place = resolved(schema, part);
  if (!place.discriminator) return place;
  const mapping = place.discriminator.mapping;
  const word = value?.[place.discriminator.propertyName];
  return Object.hasOwn(mapping, word) ? resolved(schema, { $ref: mapping[word] }) : { properties: {} };
}

const isNode = (part) => Boolean(part?.discriminator) || Boolean(part?.properties);

/** How a key holds parts of the tree: "list", "one" or "named"; undefined for an attribute. */
function holds(schema, part) {
  if (part.type === "array" && isNode(resolved(schema, part.items))) return "list";
  if (part.discriminator) return "one";
  if (part.additionalProperties && isNode(resolved(schema, part.additionalProperties))) return "named";
  return undefined;
}

/** The keys of a definition that hold parts of the tree. */
export function slots(schema, owner) {
  return Object.entries(owner.properties ?? {}).flatMap(([key, raw]) => {
    const part = resolved(schema, raw);
    const form = holds(schema, part);
    const of = { list: part.items, one: part, named: part.additionalProperties }[form];
    return form ? [{ key, form, of }] : [];
  });
}

/** The other keys of a definition. */
export function attributes(schema, owner) {
  const required = new Set(owner.required ?? []);
  return Object.entries(owner.properties ?? {}).flatMap(([key, raw]) => {
    const part = resolved(schema, raw);
    return key === "do" || holds(schema, part) ? [] : [{ key, part, required: required.has(key) }];
  });
}

/** What may be put into a slot: kinds of tasks, or the one kind that it holds. */
export function kinds(schema, of) {
  const place = resolved(schema, of);
  if (!place.discriminator) return [{ word: "", title: "machine task set", part: place }];
  return Object.entries(place.discriminator.mapping).map(([word, target]) => ({
    word,
    title: word,
    part: resolved(schema, { $ref: target }),
  }));
}

/** A new value with its required attributes, each with the first or the smallest value that it may have. */
export function begun(schema, kind, values) {
  const made = kind.word ? { do: kind.word } : {};
  for (const { key, part, required } of attributes(schema, kind.part)) {
    if (required) made[key] = first(schema, key, part, values);
  }
  for (const { key, form } of slots(schema, kind.part)) if (form === "list") made[key] = [];
  return made;
}

function first(schema, key, part, values) {
  if (key === "machine") return values.machines?.[0] ?? "";
  if (part.enum) return part.enum[0];
  return { integer: 1, number: 1, array: [] }[part.type] ?? "";
}
