// tools, call and the questions about tools.

let made = 0;
let exhausted; // the answer to every call beyond the last; there can be very many

// request calls a tool. Arguments are written at once: what the script does to them
// afterwards does not change what is sent.
const request = (server, tool, args, raw, timeout) => {
  const name = server + "/" + tool;
  const refuse = (code, message) => Promise.reject(new ToolError(name, { code, message }));
  if (args === undefined) args = {};
  if (args === null || typeof args !== "object" || Array.isArray(args)) {
    return refuse("invalid_arguments", `${name} takes one object of arguments, not ${args === null ? "null" : Array.isArray(args) ? "an array" : "a " + typeof args}`);
  }
  let json;
  try {
    json = JSON.stringify(args);
  } catch (error) {
    if (error instanceof InternalError) throw error;
    return refuse("invalid_arguments", `the arguments of ${name} are no JSON: ${error.message}`);
  }
  if (json === undefined || json[0] !== "{") return refuse("invalid_arguments", `${name} takes one object of arguments`);
  if (json.length > limits.maxArguments) return refuse("limit", `the arguments of ${name} have more than ${limits.maxArguments} bytes`);
  if (++made > limits.maxCalls) return (exhausted ??= refuse("limit", `a script makes at most ${limits.maxCalls} calls`));
  const head = JSON.stringify({ server, tool, raw: raw === true, timeout: timeout ?? 0 });
  return ask("call", name, head.slice(0, -1) + ',"args":' + json + "}");
};

const milliseconds = (value) => {
  if (value === undefined) return 0;
  if (typeof value !== "number" || !(value >= 1)) throw new TypeError("timeout_ms is a number of milliseconds, at least 1");
  return Math.ceil(Math.min(value, 2 ** 31));
};

const member = (server, tool) => {
  const function_ = (args) => request(server, tool, args, false);
  Object.defineProperty(function_, "name", { value: tool });
  function_.raw = (args) => request(server, tool, args, true);
  Object.defineProperty(function_.raw, "name", { value: tool + ".raw" });
  Object.freeze(function_.raw);
  return Object.freeze(function_);
};

const spelled = (path, key) => (/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? path + "." + key : `${path}[${JSON.stringify(key)}]`);

const missing = (path, key, have) => {
  const similar = near(key, JSON.stringify(have)).map((name) => spelled(path, name));
  let hint = "";
  if (similar.length > 0) hint = ` Did you mean ${similar.join(" or ")}?`;
  else if (have.length === 0) hint = ` ${path} has no members.`;
  else hint = ` Object.keys(${path}) has what there is.`;
  return new TypeError(`${spelled(path, key)} does not exist.${hint}`);
};

// The language itself looks these up, in await and in conversions: they are no names
// here, and asking for them is no mistake. They are those of name.Implicit.
const implicit = new Set(["then", "toJSON", "toString", "toLocaleString", "valueOf", "constructor", "prototype", "hasOwnProperty", "isPrototypeOf",
  "propertyIsEnumerable", "__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"]);

// lookup is an object whose members are known by identifier and by raw name, and that
// throws for any other. make turns what is listed into the member, once.
const lookup = (path, list, make, open) => {
  const known = new Map();
  for (const entry of list) if (!implicit.has(entry.name)) known.set(entry.name, entry);
  for (const entry of list) if (!known.has(entry.id)) known.set(entry.id, entry);
  const identifiers = list.map((entry) => entry.id);
  const ready = new Map();
  return new Proxy(Object.create(null), {
    get(_, key) {
      if (typeof key === "symbol") return undefined;
      if (ready.has(key)) return ready.get(key);
      let entry = known.get(key);
      if (entry === undefined) {
        if (implicit.has(key)) return undefined;
        if (!open) throw missing(path, key, identifiers);
        entry = { name: key, id: key };
      }
      const value = make(entry);
      ready.set(key, value);
      return value;
    },
    has: (_, key) => known.has(key),
    ownKeys: () => identifiers,
    getOwnPropertyDescriptor(_, key) {
      if (!known.has(key)) return undefined;
      return { value: this.get(_, key), enumerable: true, configurable: true, writable: false };
    },
    set(_, key) { throw new TypeError(`${spelled(path, String(key))} cannot be assigned`); },
    defineProperty(_, key) { throw new TypeError(`${spelled(path, String(key))} cannot be assigned`); },
    deleteProperty(_, key) { throw new TypeError(`${spelled(path, String(key))} cannot be deleted`); },
    getPrototypeOf: () => null,
    setPrototypeOf: () => false,
    preventExtensions: () => false,
  });
};

let limits;

const offer = (servers) =>
  lookup("tools", servers, (server) =>
    lookup(spelled("tools", server.id), server.tools ?? [], (tool) => member(server.name, tool.name), server.open === true));

const call = (name, args, options = {}) => {
  if (typeof name !== "string" || !/^[^/]+\/./s.test(name)) throw new TypeError('call takes a tool\'s name first: "server/tool"');
  const slash = name.indexOf("/");
  return request(name.slice(0, slash), name.slice(slash + 1), args, options?.raw === true, milliseconds(options?.timeout_ms));
};

const question = (what, args) => ask("ask", what, JSON.stringify({ what, args }));
const named = (what, value) => {
  if (typeof value !== "string" || value === "") throw new TypeError(`${what} takes a name, as a string`);
  return value;
};

const searchTools = (query, options = {}) => {
  if (typeof query !== "string") throw new TypeError("searchTools takes a query, as a string");
  return question("search", [query, { server: options?.server, limit: options?.limit }]);
};
const describeTool = (...names) => question("describe", names.flat().map((name) => named("describeTool", name)));
const describeServer = (name) => question("server", [named("describeServer", name)]);
