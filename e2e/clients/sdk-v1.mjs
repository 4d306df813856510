// tools/list and some tools/call by the TypeScript SDK v1.
// Argument: a job as JSON, see transport.mjs, with calls: [{tool, arguments}]. Prints {tools, results}.
import { createRequire } from 'node:module';
import { open } from './transport.mjs';

const require = createRequire(import.meta.url);
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');

const job = JSON.parse(process.argv[2]);
const transport = open(job);
const client = new Client({ name: 'e2e-sdk-v1', version: '1' });
await client.connect(transport);

const { tools } = await client.listTools();
const results = [];
for (const { tool, arguments: args } of job.calls) results.push(await client.callTool({ name: tool, arguments: args }));
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), results }));

await transport.terminateSession?.();
await client.close();
process.exit(); // fetch keeps idle connections, and with them the process, for seconds
