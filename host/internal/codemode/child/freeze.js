// The engine's own objects: those that would let time or chance in are removed or
// replaced, and then nothing of them can be changed.

for (const name of ["WeakRef", "FinalizationRegistry", "SharedArrayBuffer", "Atomics"]) delete globalThis[name];

let instant; // milliseconds; undefined where the clock runs
let state = [1, 2, 3, 4];

// seed fills the generator (xoshiro128**) from a text, and stops the clock.
const seed = (from, now) => {
  let h = 2166136261;
  state = state.map((_, i) => {
    for (const c of String(from) + i) h = Math.imul(h ^ c.codePointAt(0), 16777619);
    h = Math.imul(h ^ (h >>> 15), 2246822507);
    return (h ^ (h >>> 13)) >>> 0 || i + 1;
  });
  instant = now;
};

const next = () => {
  const rotate = (x, k) => (x << k) | (x >>> (32 - k));
  const result = Math.imul(rotate(Math.imul(state[1], 5), 7), 9) >>> 0;
  const t = state[1] << 9;
  state[2] ^= state[0];
  state[3] ^= state[1];
  state[1] ^= state[2];
  state[0] ^= state[3];
  state[2] ^= t;
  state[3] = rotate(state[3], 11);
  return result;
};

hidden(Math, "random", function random() { return (next() * 2 ** 21 + (next() >>> 11)) / 2 ** 53; });

const RealDate = Date;
const now = () => instant ?? RealDate.now();
function FixedDate(...parts) {
  if (new.target === undefined) return new RealDate(now()).toString();
  return Reflect.construct(RealDate, parts.length === 0 ? [now()] : parts, new.target === FixedDate ? RealDate : new.target);
}
Object.defineProperty(FixedDate, "name", { value: "Date" });
Object.defineProperty(FixedDate, "length", { value: 7 });
hidden(FixedDate, "now", function now_() { return now(); });
hidden(FixedDate, "parse", RealDate.parse);
hidden(FixedDate, "UTC", RealDate.UTC);
Object.defineProperty(FixedDate, "prototype", { value: RealDate.prototype, writable: false });
hidden(RealDate.prototype, "constructor", FixedDate);
hidden(globalThis, "Date", FixedDate);

// An object inherits a frozen property as one it cannot assign. These are assigned in
// classes and on errors every day, so they become accessors that allow it below.
const overridable = (prototype, names) => {
  for (const name of names) {
    const property = Object.getOwnPropertyDescriptor(prototype, name);
    if (property === undefined || !("value" in property)) continue;
    const value = property.value;
    Object.defineProperty(prototype, name, {
      get() { return value; },
      set(mine) {
        if (this === prototype) throw new TypeError(`the built-in ${name} cannot be changed`);
        if (this === undefined || this === null) return;
        Object.defineProperty(this, name, { value: mine, writable: true, enumerable: true, configurable: true });
      },
      enumerable: false, configurable: false,
    });
  }
};

const freeze = () => {
  const errors = Object.getOwnPropertyNames(globalThis).map((name) => globalThis[name])
    .filter((value) => typeof value === "function" && (value === Error || Error.isPrototypeOf(value)));
  for (const error of [...errors, ToolError]) overridable(error.prototype, ["name", "message", "toString", "toJSON", "constructor"]);
  overridable(Object.prototype, ["constructor", "toString", "toLocaleString", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"]);
  overridable(Function.prototype, ["constructor", "toString", "bind", "call", "apply"]);
  for (const { prototype } of [Array, Map, Set, Date, RegExp, Promise, Iterator]) overridable(prototype, ["constructor", "toString", "toJSON"]);

  const seen = new Set();
  const reach = (value) => {
    if (value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) return;
    seen.add(value);
    for (const name of Reflect.ownKeys(value)) {
      const property = Object.getOwnPropertyDescriptor(value, name);
      reach(property.value);
      reach(property.get);
      reach(property.set);
    }
    reach(Object.getPrototypeOf(value));
    if (value !== globalThis) Object.freeze(value);
  };
  reach(globalThis);
  // Those that no name leads to.
  for (const value of [function* () {}, async function () {}, async function* () {}, [][Symbol.iterator](), new Map().entries(),
    new Set().entries(), ""[Symbol.iterator](), "".matchAll(/./g), (function* () {})(), (async function* () {})(), Iterator.from({ next() {} })]) {
    reach(value);
  }
  for (const name of Reflect.ownKeys(globalThis)) {
    Object.defineProperty(globalThis, name, { writable: false, configurable: false });
  }
};
