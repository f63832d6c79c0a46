// What a script leaves behind: output, console, and what it stores.

const format = (value) => {
  try {
    switch (typeof value) {
      case "string": return value;
      case "undefined": return "undefined";
      case "function": return `[function ${value.name || "anonymous"}]`;
      case "symbol": return value.toString();
      case "bigint": return value + "n";
    }
    if (value instanceof Error) return (value + "\n" + place(String(value.stack))).trimEnd();
    if (value instanceof Promise) return "[promise]";
    return JSON.stringify(value) ?? String(value);
  } catch (error) {
    if (error instanceof InternalError) throw error;
    return `[unprintable: ${error?.message}]`;
  }
};

let consoleRoom = 0;
let dropped = 0;

const line = (level) => (...values) => {
  if (consoleRoom <= 0) {
    dropped++;
    return;
  }
  let text = values.map(format).join(" ");
  if (text.length > consoleRoom) text = text.slice(0, consoleRoom) + "…";
  consoleRoom -= text.length + 16;
  send("console", 0, JSON.stringify({ level, text }));
};

const console = Object.freeze({
  log: line("log"), info: line("info"), warn: line("warn"), error: line("error"), debug: line("debug"),
  trace: line("debug"), dir: line("log"), table: line("log"), group: line("log"), groupCollapsed: line("log"),
  assert: (holds, ...values) => { if (!holds) line("error")("Assertion failed:", ...values); },
  groupEnd() {}, time() {}, timeLog() {}, timeEnd() {}, count() {}, countReset() {}, clear() {},
});

let outputRoom = 0;
let items = 0;

const put = (json) => {
  outputRoom -= json.length;
  if (outputRoom < 0 || ++items > limits.maxItems) {
    stop("output_limit", `the script put out more than ${limits.maxOutput} bytes or ${limits.maxItems} items`);
  }
  send("output", 0, json);
};

const text = (value) => {
  const string = typeof value === "string" ? value : JSON.stringify(value) ?? String(value);
  // Before it is copied: a string may be larger than everything else.
  if (string.length > outputRoom) stop("output_limit", `the script put out more than ${limits.maxOutput} bytes`);
  put(JSON.stringify({ text: string }));
};

const image = (block) => {
  if (typeof block === "string") {
    const url = /^data:([a-z]+\/[\w.+-]+);base64,/.exec(block);
    if (!url) throw new TypeError("image takes an MCP image block, or a data: URL with base64");
    block = { type: "image", mimeType: url[1], data: block.slice(url[0].length) };
  }
  if (block === null || typeof block !== "object" || typeof block.data !== "string" || typeof block.mimeType !== "string") {
    throw new TypeError('image takes a block like {type: "image", data: "<base64>", mimeType: "image/png"}');
  }
  const { data, mimeType } = block;
  if (!/^image\/[\w.+-]+$/.test(mimeType)) throw new TypeError(`image: ${JSON.stringify(mimeType.slice(0, 64))} is no type of image`);
  if (data.length > outputRoom) stop("output_limit", `the script put out more than ${limits.maxOutput} bytes`);
  const wrong = base64(data);
  if (wrong !== "") throw new TypeError("image: " + wrong);
  put(JSON.stringify({ block: { type: "image", data, mimeType } }));
};

const stored = new Map();
const written = new Map();
let storedSize = 0;

const key = (value) => {
  if (typeof value !== "string" || value === "") throw new TypeError("store and load take a key first, as a string");
  return value;
};

const store = (name, value) => {
  key(name);
  const json = value === undefined ? "" : JSON.stringify(value);
  if (json === undefined) throw new TypeError(`store: the value of ${JSON.stringify(name)} is no JSON`);
  if (json.length > limits.maxStored) throw new RangeError(`store: a value has at most ${limits.maxStored} bytes, that of ${JSON.stringify(name)} has ${json.length}`);
  const before = stored.get(name);
  const size = storedSize - (before === undefined ? 0 : name.length + before.length) + (json === "" ? 0 : name.length + json.length);
  if (size > limits.maxStoredAll) throw new RangeError(`store: all values together have at most ${limits.maxStoredAll} bytes`);
  storedSize = size;
  if (json === "") stored.delete(name);
  else stored.set(name, json);
  written.set(name, json);
};

const load = (name) => {
  const json = stored.get(key(name));
  return json === undefined ? undefined : decode(json, odd(json));
};
