// Walks through everything server-everything speaks with the TypeScript SDK v1 and prints one report as JSON.
// Argument: a job as JSON, see transport.mjs. Run once against the server and once through the hub, the two reports
// must be equal: what differs from run to run by itself (random ids, times of day) is written out as <id> and <time>.
import { createRequire } from 'node:module';
import { open } from './transport.mjs';

const require = createRequire(import.meta.url);
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const types = require('@modelcontextprotocol/sdk/types.js');

const report = { asked: [], logs: [], progress: [], updated: [] };
let roots = [{ uri: 'file:///work', name: 'work' }];

const client = new Client(
  { name: 'e2e-features', version: '1' },
  { capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } } },
);

// Requests and notifications of the server, kept as they came.
const asked = (request) => report.asked.push({ method: request.method, params: request.params });
client.setRequestHandler(types.CreateMessageRequestSchema, (request) => {
  asked(request);
  return { role: 'assistant', model: 'e2e', stopReason: 'endTurn', content: { type: 'text', text: 'sampled' } };
});
client.setRequestHandler(types.ElicitRequestSchema, (request) => {
  asked(request);
  return { action: 'accept', content: request.params.mode === 'url' ? undefined : { name: 'Ada' } };
});
client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots }));

// A notification counts once: a stream that is resumed replays some, and updates come every few seconds.
let wake = () => {};
const note = (list, value) => {
  if (!list.some((known) => JSON.stringify(known) === JSON.stringify(value))) list.push(value);
  wake();
};
client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => note(report.logs, params));
client.setNotificationHandler(types.ProgressNotificationSchema, ({ params }) => note(report.progress, params));
client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, ({ params }) => note(report.updated, params));

async function until(what, arrived) {
  const deadline = Date.now() + 10_000;
  while (!arrived()) {
    if (Date.now() > deadline) throw new Error(`${what} did not arrive within 10 s`);
    await new Promise((resolve) => {
      wake = resolve;
      setTimeout(resolve, 100);
    });
  }
}

// The answer as it came: the result with all its fields, or the error with its code and data.
async function ask(method, params) {
  try {
    return await client.request({ method, params }, types.ResultSchema);
  } catch (error) {
    return { code: error.code, message: error.message, data: error.data };
  }
}
const call = (name, args = {}) => ask('tools/call', { name, arguments: args });

const transport = open(JSON.parse(process.argv[2]));
await client.connect(transport);
const rootsLog = (n) => () => report.logs.some((log) => `${log.data}`.startsWith(`Roots updated: ${n} root`));

report.server = client.getServerVersion();
report.capabilities = client.getServerCapabilities();
report.instructions = client.getInstructions();
report.ping = await ask('ping');
report.level = await ask('logging/setLevel', { level: 'debug' });

report.tools = await ask('tools/list', {});
report.resources = await ask('resources/list', {});
report.templates = await ask('resources/templates/list', {});
report.prompts = await ask('prompts/list', {});

report.echo = await call('echo', { message: 'grüße 🌍 \u2028' });
report.structured = await call('get-structured-content', { location: 'Chicago' });
report.image = await call('get-tiny-image');
report.links = await call('get-resource-links', { count: 3 });
report.reference = await call('get-resource-reference', { resourceType: 'Blob', resourceId: 2 });
report.annotated = await call('get-annotated-message', { messageType: 'error', includeImage: true });
report.progressed = await ask('tools/call', {
  name: 'trigger-long-running-operation',
  arguments: { duration: 0.4, steps: 4 },
  _meta: { progressToken: 'e2e-token' },
});
await until('the last progress', () => report.progress.length === 4);

report.sampled = await call('trigger-sampling-request', { prompt: 'hello', maxTokens: 7 });
report.elicited = await call('trigger-elicitation-request');
report.elicitedURL = await call('trigger-url-elicitation', { url: 'https://example.com/open', elicitationId: 'e2e' });
report.urlRequired = await call('trigger-url-elicitation', { url: 'https://example.com/need', errorPath: true });

await until('the first roots/list', rootsLog(1));
roots = [...roots, { uri: 'file:///more', name: 'more' }];
await client.sendRootsListChanged();
await until('roots/list after roots/list_changed', rootsLog(2));
report.roots = await call('get-roots-list');

const text = 'demo://resource/dynamic/text/1';
report.read = await ask('resources/read', { uri: text });
report.readBlob = await ask('resources/read', { uri: 'demo://resource/dynamic/blob/1' });
report.readFile = await ask('resources/read', { uri: report.resources.resources[0].uri });
report.subscribed = await ask('resources/subscribe', { uri: text });
report.toggled = await call('toggle-subscriber-updates');
await until('notifications/resources/updated', () => report.updated.length > 0);
report.untoggled = await call('toggle-subscriber-updates');
report.unsubscribed = await ask('resources/unsubscribe', { uri: text });
await until('the log of the unsubscription', () => report.logs.some((log) => `${log.data}`.includes('Unsubscribe')));

report.prompt = await ask('prompts/get', { name: 'simple-prompt' });
report.promptArgs = await ask('prompts/get', { name: 'args-prompt', arguments: { city: 'Oslo', state: 'NO' } });
report.promptResource = await ask('prompts/get', {
  name: 'resource-prompt',
  arguments: { resourceType: 'Text', resourceId: '3' },
});
report.completed = await ask('completion/complete', {
  ref: { type: 'ref/prompt', name: 'completable-prompt' },
  argument: { name: 'name', value: 'A' },
  context: { arguments: { department: 'Engineering' } },
});
report.completedURI = await ask('completion/complete', {
  ref: { type: 'ref/resource', uri: report.templates.resourceTemplates[0].uriTemplate },
  argument: { name: 'resourceId', value: '7' },
});

const started = await ask('tools/call', {
  name: 'simulate-research-query',
  arguments: { topic: 'hubs' },
  task: { ttl: 60_000 },
});
report.task = started;
report.taskGot = await ask('tasks/get', { taskId: started.task?.taskId });
report.taskCancelled = await ask('tasks/cancel', { taskId: started.task?.taskId });

report.noTool = await call('no-such-tool');
report.badArgs = await call('get-sum', { a: 'x' });
report.noPrompt = await ask('prompts/get', { name: 'no-such-prompt' });
report.noResource = await ask('resources/read', { uri: 'demo://nowhere' });
report.noMethod = await ask('no/such/method', {});

const readable = (key, value) => (key === 'blob' ? Buffer.from(value, 'base64').toString() : value);
const plain = JSON.stringify(report, readable, 1)
  .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b/g, '<id>')
  .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|\d{1,2}:\d\d:\d\d [AP]M/g, '<time>');
console.log(plain);

await transport.terminateSession?.();
await client.close();
process.exit(); // fetch keeps idle connections, and with them the process, for seconds
