// What a client of the TypeScript SDK finds behind collet serve, as one line of JSON.
// usage: node front.mjs v1|v2|v2legacy http URL
//        node front.mjs v1|v2|v2legacy stdio COMMAND ARGUMENT...
const [sdk, kind, target, ...args] = process.argv.slice(2)

async function load() {
  if (sdk !== 'v1') {
    const m = await import('@modelcontextprotocol/client')
    return { ...m, ...(await import('@modelcontextprotocol/client/stdio')), elicit: 'elicitation/create' }
  }
  const types = await import('@modelcontextprotocol/sdk/types.js')
  return {
    ...(await import('@modelcontextprotocol/sdk/client/index.js')),
    ...(await import('@modelcontextprotocol/sdk/client/stdio.js')),
    ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    elicit: types.ElicitRequestSchema,
  }
}

const m = await load()
const transport = kind === 'stdio'
  ? new m.StdioClientTransport({ command: target, args, env: process.env, stderr: 'inherit' })
  : new m.StreamableHTTPClientTransport(new URL(target))
let version
const set = transport.setProtocolVersion?.bind(transport)
transport.setProtocolVersion = (v) => { version = v; set?.(v) }

const options = { capabilities: { elicitation: {} } }
if (sdk === 'v2') options.versionNegotiation = { mode: 'auto' }
const client = new m.Client({ name: sdk, version: '1' }, options)
client.setRequestHandler(m.elicit, async () => ({ action: 'accept', content: { name: 'Ann <& Co>' } }))
await client.connect(transport)

const call = (name, args, opt) =>
  sdk === 'v1' ? client.callTool({ name, arguments: args }, undefined, opt) : client.callTool({ name, arguments: args }, opt)
const text = (r) => r.content.map((c) => c.text).join('\n')
const out = {}
out.tools = (await client.listTools()).tools.map((t) => t.name)
out.echo = text(await call('n__echo', { text: '<&>' }))
const found = (await call('tool_search', { query: 'sum of two numbers', limit: 1 })).structuredContent
out.found = found.tools.map((t) => t.name)
out.pending = found.pending.map((p) => p.server)
out.sum = text(await call('tool_call', { name: out.found[0], arguments: { a: 2, b: 40 } }))
out.asked = text(await call('tool_call', { name: 'old/trigger-elicitation-request', arguments: {} }))
// Version 1 loses progress that it reads together with the answer, so there is a pause between them.
for (let tries = 0; tries < 10 && !(out.progress?.length >= 3); tries++) {
  out.progress = []
  await call('n__t_progress', { ms: 400, step: 100 }, { onprogress: (p) => out.progress.push(p.progress) })
}
out.unknown = await call('nothing', {}).then(() => 0, (e) => e.code)
out.prompts = (await client.listPrompts()).prompts.map((p) => p.name)
out.prompt = (await client.getPrompt({ name: 'old__args-prompt', arguments: { city: '<&>' } })).messages[0].content.text
out.completed = (await client.complete({ ref: { type: 'ref/prompt', name: 'old__completable-prompt' }, argument: { name: 'department', value: 'E' } })).completion.values
const uri = (await client.listResources()).resources[0].uri
out.uri = uri
out.read = (await client.readResource({ uri })).contents.length
const spilled = (await call('tool_call', { name: 'n/c_big', arguments: { size: 20000 } })).structuredContent.error
out.spilled = spilled.code
out.whole = 0
for (let offset = 0; offset !== undefined;) {
  const part = (await call('result_read', { handle: spilled.handle, path: 'content.0.text', offset })).structuredContent
  out.whole += part.data.length
  offset = part.next?.offset
}
// The client holds every answer of codemode against its outputSchema, those of scripts that failed too.
const script = async (code, more, opt) => (await call('codemode', { code, ...more }, opt)).structuredContent
const kept = (await script('for (let i = 0; i < 1000; i++) text("line " + i)', { max_output_tokens: 100 })).truncated
const reports = []
await script('await Promise.all([1, 2].map(() => tools.n.t_sleep({ ms: 400 })))', {}, { onprogress: (p) => reports.push(p.message) })
out.scripts = {
  sum: (await script('return [await call("old/get-sum", { a: 2, b: 40 }), await tools.n.echo({ text: "<&>" })]')).value,
  asked: (await script('return await call("old/trigger-elicitation-request")')).value,
  failed: [
    (await script('const x = 1\nthrow new TypeError("no " + x)')).error.line,
    (await script('for (;;) ;', { timeout_ms: 300 })).error.kind,
    (await script(7)).error.kind,
  ],
  kept: (await call('result_read', { handle: kept.resource, lines: '500' })).structuredContent.data,
  progress: reports.includes('2 calls made, 2 in flight'),
}
const abort = new AbortController()
out.canceled = await call('n__t_progress_forever', {}, { signal: abort.signal, onprogress: () => abort.abort() }).then(() => false, () => true)
out.after = text(await call('n__echo', { text: 'still here' }))
out.version = client.getNegotiatedProtocolVersion?.() ?? version
console.log(JSON.stringify(out))
await client.close()
process.exit(0)
