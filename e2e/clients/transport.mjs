// The transports of the TypeScript SDK v1 by name. The packages are found through NODE_PATH.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { SSEClientTransport } = require('@modelcontextprotocol/sdk/client/sse.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');

// job is {transport: "http" | "sse", url} or {transport: "stdio", command, args}.
export function open(job) {
  switch (job.transport) {
    case 'http':
      return new StreamableHTTPClientTransport(new URL(job.url));
    case 'sse':
      return new SSEClientTransport(new URL(job.url));
    case 'stdio':
      return new StdioClientTransport({ command: job.command, args: job.args, env: { ...process.env, ...job.env } });
    default:
      throw new Error(`no transport ${job.transport}: use http, sse or stdio`);
  }
}
