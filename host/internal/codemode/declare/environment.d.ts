
/** The tools, as tools.server.tool(arguments). Their own names work in brackets: tools["my-server"]["read-file"]. */
declare const tools: Tools;

/**
 * Calls a tool by its full name, "server/tool".
 * With raw, the answer is the whole MCP result, also of a tool that says it failed.
 */
declare function call<Name extends keyof ToolsByName>(
  name: Name,
  args: ArgumentsOf<Name>,
  options: CallOptions & { raw: true },
): Promise<CallToolResult>;
declare function call<Name extends keyof ToolsByName>(
  name: Name,
  args: ArgumentsOf<Name>,
  options?: CallOptions & { raw?: false },
): Promise<ResultOf<Name>>;
declare function call<Name extends WithoutArguments>(name: Name): Promise<ResultOf<Name>>;

/**
 * A tool. The promise is rejected with a ToolError when the call or the tool fails.
 * The result is the structured one where there is one; else the text, parsed when it is
 * one JSON object or array; else, with images and the like, the whole MCP result.
 */
interface Tool<Arguments, Result> {
  (...args: {} extends Arguments ? [args?: Arguments] : [args: Arguments]): Promise<Result>;
  /** The whole MCP result, also when the tool says that it failed. */
  raw(...args: {} extends Arguments ? [args?: Arguments] : [args: Arguments]): Promise<CallToolResult>;
}

/** What a tool takes, by its full name. */
type ArgumentsOf<Name extends keyof ToolsByName> = ToolsByName[Name] extends Tool<infer Arguments, any> ? Arguments : never;

/** What a tool answers, by its full name. */
type ResultOf<Name extends keyof ToolsByName> = ToolsByName[Name] extends Tool<any, infer Result> ? Result : never;

/** The full names of tools that need no arguments. */
type WithoutArguments = { [Name in keyof ToolsByName]: {} extends ArgumentsOf<Name> ? Name : never }[keyof ToolsByName];

interface CallOptions {
  /** Answer with the whole MCP result. */
  raw?: boolean;
  /** How long one attempt may take, in milliseconds. The server's own timeout when absent. */
  timeout_ms?: number;
}

/** A call that failed. */
declare class ToolError extends Error {
  private constructor();
  /** "server/tool" */
  readonly tool: string;
  readonly code:
    | "tool_error" /* the tool says that it failed: message is its text */
    | "invalid_arguments" /* nothing was sent */
    | "not_found"
    | "denied"
    | "timeout"
    | "cancelled"
    | "disconnected"
    | "protocol"
    | "result_too_large"
    | "limit";
  readonly details: unknown;
  /** The same call may well succeed later, and does no harm. */
  readonly retryable: boolean;
}

/** The result of a tool as MCP has it. */
interface CallToolResult {
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  [key: string]: unknown;
}

type ContentBlock =
  | { type: "text"; text: string; [key: string]: unknown }
  | { type: "image" | "audio"; data: string; mimeType: string; [key: string]: unknown }
  | { type: "resource"; resource: { uri: string; mimeType?: string; text?: string; blob?: string; [key: string]: unknown }; [key: string]: unknown }
  | { type: "resource_link"; uri: string; name: string; description?: string; mimeType?: string; [key: string]: unknown };

/** Finds tools by words that say what they should do. */
declare function searchTools(query: string, options?: { server?: string; limit?: number }): Promise<FoundTool[]>;

interface FoundTool {
  /** "server/tool" */
  name: string;
  description: string;
  exposure: "direct" | "deferred" | "codemode";
  /** A person has to agree before it is called. */
  approval: boolean;
  [key: string]: unknown;
}

/** The TypeScript declarations of tools. */
declare function describeTool(name: string, ...more: string[]): Promise<string>;

/** What a server says of itself, and the names of its tools. */
declare function describeServer(
  name: string,
): Promise<{ name: string; description: string; instructions?: string; tools: string[]; [key: string]: unknown }>;

/** Adds text to the output; anything but a string as JSON. */
declare function text(value: unknown): void;

/** Adds an image to the output: an MCP image block, or a data: URL with base64. */
declare function image(block: { type?: "image"; data: string; mimeType: string } | string): void;

/** Keeps a value for later scripts; undefined removes it. It counts only when the script succeeds. */
declare function store(key: string, value: unknown): void;

/** A value that an earlier script kept, or undefined. */
declare function load(key: string): any;

/** Ends the script at once, with a value or none. */
declare function exit(value?: unknown): never;

/** What the script was started with. */
declare const args: any;

/** A number of a result that no JavaScript number holds with all its digits, and that is no integer: those are a bigint. */
declare class Decimal {
  private constructor();
  valueOf(): number;
  toString(): string;
}

interface Console {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  debug(...values: unknown[]): void;
}

/** A log beside the output. */
declare var console: Console;
