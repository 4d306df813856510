// tools/list and some tools/call by the TypeScript SDK v2.
// Argument: {url, mode: "legacy" | "auto", calls: [{tool, arguments}]} as JSON. Prints {tools, results}.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');

const job = JSON.parse(process.argv[2]);
const client = new Client({ name: 'e2e-sdk-v2', version: '1' }, { versionNegotiation: { mode: job.mode } });
await client.connect(new StreamableHTTPClientTransport(new URL(job.url)));

const { tools } = await client.listTools();
const results = [];
for (const { tool, arguments: args } of job.calls) results.push(await client.callTool({ name: tool, arguments: args }));
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), results }));

await client.close();
process.exit(); // fetch keeps idle connections, and with them the process, for seconds
