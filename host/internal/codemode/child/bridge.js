// What a script's values and the host say to each other: JSON text, one call at a time.

const hidden = (object, name, value) =>
  Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });

// canonical is a number's text in one spelling: sign, digits, exponent.
const canonical = (text) => {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [, "", text];
  const digits = (whole + fraction).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  return short === "" ? "0" : sign + short + "e" + (Number(exponent) - fraction.length + digits.length - short.length);
};

// Decimal is a number that no JavaScript number holds with all its digits. It
// calculates as the nearest number, and is written with its digits.
class Decimal {
  #digits;
  constructor(digits) {
    this.#digits = digits;
    Object.freeze(this);
  }
  valueOf() { return Number(this.#digits); }
  toString() { return this.#digits; }
  toJSON() { return JSON.rawJSON(this.#digits); }
}

const exact = (key, value, context) => {
  if (typeof value !== "number" || context.source === undefined) return value;
  const source = context.source;
  if (/^-?\d+$/.test(source)) return Number.isSafeInteger(value) ? value : BigInt(source);
  return canonical(source) === canonical(String(value)) ? value : new Decimal(source);
};

// decode reads JSON; odd says that it has numbers that JSON.parse would change.
const decode = (json, odd) => (odd ? JSON.parse(json, exact) : JSON.parse(json));

// JSON.stringify writes these as values instead of throwing, or worse, as {}.
hidden(BigInt.prototype, "toJSON", function toJSON() { return JSON.rawJSON(String(this)); });
hidden(Set.prototype, "toJSON", function toJSON() { return [...this]; });
hidden(Map.prototype, "toJSON", function toJSON() {
  const object = {};
  for (const [key, value] of this) {
    Object.defineProperty(object, String(key), { value, writable: true, configurable: true, enumerable: true });
  }
  return object;
});
hidden(Promise.prototype, "toJSON", function toJSON() {
  throw new TypeError("this value contains a promise that was not awaited");
});

hidden(Error.prototype, "toJSON", function toJSON() {
  return { name: this.name, message: this.message, ...this };
});

class ToolError extends Error {
  constructor(tool, { code, message, details, retryable }) {
    super(message);
    hidden(this, "name", "ToolError");
    this.tool = tool;
    this.code = code;
    this.details = details;
    this.retryable = retryable === true;
  }
}

let asked = 0;
const waiting = new Map();

// ask sends the host a frame and returns the promise of its answer.
const ask = (kind, tool, body) => {
  const id = ++asked;
  const { stack } = new Error(); // where the script asks, for an error that has no place of its own
  return new Promise((resolve, reject) => {
    waiting.set(id, { tool, stack, resolve, reject });
    send(kind, id, body);
  });
};

const deliver = (id, ok, json, odd) => {
  const { tool, stack, resolve, reject } = waiting.get(id);
  waiting.delete(id);
  let value;
  try {
    value = decode(json, odd);
  } catch (error) {
    return reject(error);
  }
  if (ok) resolve(value);
  else reject(hidden(new ToolError(tool, value), "stack", stack));
};
