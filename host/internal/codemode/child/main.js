// The script's globals, and how it is begun and ended.

// worth is a script's value as JSON, "" for undefined. It is output, too.
const worth = (value) => {
  const json = value === undefined ? "" : JSON.stringify(value) ?? "";
  if (json.length > limits.maxOutput) stop("output_limit", `the script's value has more than ${limits.maxOutput} bytes`);
  return json;
};

const exit = (value) => {
  ending = { value: worth(value) };
  stop("exit", "");
};

let ending;

// maxSaid is how long a text of an error may be, in characters.
const maxSaid = 8192;
// maxInner is how many of the errors in an AggregateError are told.
const maxInner = 5;

const fault = (error) => {
  const is = error !== null && typeof error === "object";
  const cut = (text) => (text.length > maxSaid ? text.slice(0, maxSaid) + "…" : text);
  const string = (value) => (typeof value === "string" ? cut(value) : undefined);
  if (!is || !(error instanceof Error)) return { thrown: true, none: error === null, message: cut(format(error)) };
  let message = string(error.message) ?? "";
  if (error instanceof AggregateError && Array.isArray(error.errors)) {
    message = cut([message, ...error.errors.slice(0, maxInner).map(format)].filter((text) => text !== "").join("\n"));
  }
  if (error.cause !== undefined) message = cut(message + "\ncaused by " + format(error.cause));
  return {
    name: string(error.name), message, stack: string(error.stack),
    tool: error instanceof ToolError ? string(error.tool) : undefined,
    code: error instanceof ToolError ? string(error.code) : undefined,
  };
};

const begin = (program, odds) => {
  const given = JSON.parse(program);
  limits = given.limits;
  consoleRoom = limits.maxConsole;
  outputRoom = limits.maxOutput;
  for (const [name, json] of Object.entries(given.stored ?? {})) {
    stored.set(name, json);
    storedSize += name.length + json.length;
  }
  const globals = { tools: offer(given.servers ?? []), args: given.args === undefined ? undefined : decode(given.args, odds) };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, writable: false, configurable: false, enumerable: false });
  }
  seed(given.seed, given.deterministic ? given.now : undefined);
};

// run starts the script: main is an async function, or gives the value of a script
// that is one expression, which is called when it is a function.
const run = (main, expression) => {
  const settle = (ok, value) => {
    try {
      if (ok) settled(true, worth(value));
      else settled(false, JSON.stringify(fault(value)));
    } catch (error) {
      try {
        settled(false, JSON.stringify(fault(error)));
      } catch {
        settled(false, ""); // there is no memory to say that there is no memory
      }
    }
  };
  const begun = main();
  (expression ? begun.then((value) => (typeof value === "function" ? value(globalThis.args) : value)) : begun)
    .then((value) => settle(true, value), (error) => settle(false, error));
};

// lost describes the error of a promise that nothing waited for.
const lost = () => {
  const error = globalThis["collet:rejected"];
  delete globalThis["collet:rejected"];
  return JSON.stringify(fault(error));
};

const leave = () => JSON.stringify({ value: ending?.value, stored: Object.fromEntries(written), dropped });

for (const [name, value] of Object.entries({ call, searchTools, describeTool, describeServer, text, image, console, store, load, exit, ToolError, Decimal })) {
  Object.defineProperty(globalThis, name, { value, writable: false, configurable: false, enumerable: false });
}
