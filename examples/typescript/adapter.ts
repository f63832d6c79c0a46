// An adapter of collet without its SDK: the contract's .proto, gRPC, and what
// HashiCorp's go-plugin asks of a process. docs/contract.md says what holds.
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { loadPackageDefinition, Metadata, Server, ServerCredentials, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const here = import.meta.dirname;
const protos = loadSync(["collet/adapter/v1/adapter.proto", "goplugin/health.proto", "goplugin/controller.proto", "goplugin/status.proto"], {
  includeDirs: [join(here, "../../proto"), here],
  keepCase: true,
  longs: String,
  enums: String,
});
const pkg: any = loadPackageDefinition(protos);
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));

const configSchema = {
  type: "object",
  properties: { mark: { type: "string", description: "what stands behind the text; ! when left out" } },
  additionalProperties: false,
};
const inputSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"], additionalProperties: false };
const shout = { name: "shout", description: "Says a text louder.", inputSchema, annotations: { readOnlyHint: true } };
const about = { name: "shout", version: "0.1.0", summary: "Says things louder." };
let mark = "!";

// failed is the end of a call that could not be carried out: a status with a Failure as its detail.
function failed(code: status, failureClass: string, message: string, problems: object[] = []) {
  const failure = { class: "FAILURE_CLASS_" + failureClass, delivery: "DELIVERY_NOT_SENT", message, origin: "ORIGIN_ADAPTER", problems };
  const detail = { type_url: "type.googleapis.com/collet.adapter.v1.Failure", value: (protos["collet.adapter.v1.Failure"] as any).serialize(failure) };
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", (protos["google.rpc.Status"] as any).serialize({ code, message, details: [detail] }));
  return { code, details: message, metadata };
}

// wrong says what is wrong with a JSON object that may have one member, a string.
function wrong(raw: Buffer, member: string, required: boolean) {
  let value: any;
  try {
    value = JSON.parse(raw.length ? raw.toString() : "{}");
  } catch {}
  const problem = (path: string, rule: string, message: string) =>
    failed(status.INVALID_ARGUMENT, "INVALID_ARGUMENTS", message, [{ path, rule, message }]);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return problem("", "type", "it has to be an object");
  const other = Object.keys(value).find((key) => key !== member);
  if (other !== undefined) return problem("/" + other, "additionalProperties", `there is no ${other}`);
  if (value[member] === undefined) return required ? problem("", "required", `${member} is missing`) : null;
  return typeof value[member] === "string" ? null : problem("/" + member, "type", `${member} has to be a string`);
}

const adapter = {
  Describe: (_: any, done: any) => done(null, { ...about, config_schema: bytes(configSchema) }),
  Configure({ request }: any, done: any) {
    const problem = wrong(request.config, "mark", false);
    if (problem) return done(problem);
    mark = JSON.parse(request.config.length ? request.config : "{}").mark ?? "!";
    done(null, {});
  },
  ListTools: (_: any, done: any) => done(null, { tools: [{ name: "shout", definition: bytes(shout), read_only: true }], revision: "1" }),
  CallTool(call: any) {
    const { tool, arguments: args } = call.request;
    if (tool !== "shout") return call.emit("error", failed(status.NOT_FOUND, "NOT_FOUND", `there is no tool ${tool}`));
    const problem = wrong(args, "text", true);
    if (problem) return call.emit("error", problem);
    const text = JSON.parse(args).text.toUpperCase() + mark;
    call.write({ result: { result: bytes({ content: [{ type: "text", text }] }) } });
    call.end();
  },
  Watch: (call: any) => call.write({ snapshot: { health: { state: "STATE_READY" }, tools_revision: "1" } }), // and stays open
};

if (process.argv[2] === "describe") {
  console.log(JSON.stringify({ ...about, configSchema }));
} else if (process.env.COLLET_PLUGIN !== "adapter.v1") {
  console.error('This is collet-plugin-shout, a plugin of collet: name it in mcp.toml, under [servers.shout], with plugin = "/its/path".');
  process.exitCode = 1;
} else {
  process.on("SIGINT", () => {}); // a terminal's Ctrl-C is the host's business
  if (process.env.COLLET_LEASE === "stdin") process.stdin.resume().on("end", () => process.exit(0)); // the host is gone
  const limit = 65 * 1024 * 1024;
  const server = new Server({ "grpc.max_receive_message_length": limit, "grpc.max_send_message_length": limit });
  server.addService(pkg.collet.adapter.v1.Adapter.service, adapter);
  server.addService(pkg.grpc.health.v1.Health.service, { Check: (_: any, done: any) => done(null, { status: "SERVING" }) });
  server.addService(pkg.plugin.GRPCController.service, { Shutdown: (_: any, done: any) => (done(null, {}), setTimeout(() => process.exit(0), 50)) });
  const socket = join(mkdtempSync(join(process.env.PLUGIN_UNIX_SOCKET_DIR || tmpdir(), "shout-")), "s");
  server.bindAsync("unix:" + socket, ServerCredentials.createInsecure(), (err) => {
    if (err) throw err;
    process.stdout.write(`1|1|unix|${socket}|grpc\n`); // the handshake, and nothing else on stdout
  });
}
