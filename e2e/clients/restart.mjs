// A session of the TypeScript SDK v1 that a hub's restart must not end.
// Argument: a job as JSON, see transport.mjs. Prints "ready" once it is subscribed and its stream is open; every line
// on stdin is a tool to call: {tool, arguments}. Prints each result, and each notification by its method.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { open } from './transport.mjs';

const require = createRequire(import.meta.url);
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const types = require('@modelcontextprotocol/sdk/types.js');

const client = new Client({ name: 'e2e-restart', version: '1' });
client.onerror = (error) => console.log(`trouble ${error.message}`);
client.setNotificationHandler(types.ToolListChangedNotificationSchema, ({ method }) => console.log(method));
client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, ({ method, params }) => console.log(method, params.uri));

await client.connect(open(JSON.parse(process.argv[2])));
await client.listTools();
await client.subscribeResource({ uri: 'test://hello.txt' });
console.log('ready');

for await (const line of createInterface({ input: process.stdin })) {
  const { tool, arguments: args } = JSON.parse(line);
  const result = await client.callTool({ name: tool, arguments: args });
  console.log(`called ${tool} ${JSON.stringify(result)}`);
}
process.exit(); // fetch keeps idle connections, and with them the process, for seconds
