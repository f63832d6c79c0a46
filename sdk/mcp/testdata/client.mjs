// What a client of the TypeScript SDK finds at our server, as one line of JSON.
// usage: node client.mjs v1|v2|v2legacy stdio|http|sse URL COMMAND
const [sdk, kind, url, command] = process.argv.slice(2)

async function load() {
  if (sdk !== 'v1') {
    const m = await import('@modelcontextprotocol/client')
    const stdio = await import('@modelcontextprotocol/client/stdio')
    return { ...m, ...stdio, elicit: 'elicitation/create', changed: 'notifications/tools/list_changed' }
  }
  const types = await import('@modelcontextprotocol/sdk/types.js')
  return {
    ...(await import('@modelcontextprotocol/sdk/client/index.js')),
    ...(await import('@modelcontextprotocol/sdk/client/stdio.js')),
    ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    ...(await import('@modelcontextprotocol/sdk/client/sse.js')),
    elicit: types.ElicitRequestSchema,
    changed: types.ToolListChangedNotificationSchema,
  }
}

const m = await load()
const transport = {
  stdio: () => new m.StdioClientTransport({ command, env: process.env, stderr: 'inherit' }),
  http: () => new m.StreamableHTTPClientTransport(new URL(url)),
  sse: () => new m.SSEClientTransport(new URL(url)),
}[kind]()
let version
const set = transport.setProtocolVersion?.bind(transport)
transport.setProtocolVersion = (v) => { version = v; set?.(v) }

const options = { capabilities: { elicitation: {} } }
if (sdk === 'v2') options.versionNegotiation = { mode: 'auto' }
const client = new m.Client({ name: sdk, version: '1' }, options)
client.setRequestHandler(m.elicit, async () => ({ action: 'decline' }))
await client.connect(transport)

const call = (name, args, opt) =>
  sdk === 'v1' ? client.callTool({ name, arguments: args }, undefined, opt) : client.callTool({ name, arguments: args }, opt)
const text = (r) => r.content[0].text
const out = {}
out.tools = (await client.listTools()).tools.map((t) => t.name)
out.echo = text(await call('echo', { text: '<&>' }))
out.mirror = text(await call('mirror', { text: 'x', region: 'zürich', n: 7 }))
// Version 1 loses progress that it reads together with the answer, so there is a pause between them.
for (let tries = 0; tries < 10 && out.progress?.length !== 3; tries++) {
  out.progress = []
  await call('steps', { pause: 100 }, { onprogress: (p) => out.progress.push(p.progress) })
}
out.ask = text(await call('ask', { method: 'elicitation/create', params: { message: '?', requestedSchema: { type: 'object', properties: {} } } }))
out.unknown = await call('nothing', {}).then(() => 0, (e) => e.code)
const abort = new AbortController()
setTimeout(() => abort.abort(), 300)
out.canceled = await call('wait', {}, { signal: abort.signal }).then(() => false, () => true)
out.version = client.getNegotiatedProtocolVersion?.() ?? version
console.log(JSON.stringify(out))
await client.close()
process.exit(0)
